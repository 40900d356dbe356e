"""Rows of text as a table, on the terminal and in Markdown."""

Row = tuple[str, ...]


def markdown(rows: list[Row]) -> str:
    head, *body = rows
    lines = [head, tuple("---" if index == 0 else "---:" for index in range(len(head))), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def terminal(rows: list[Row]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def number(value: float | None, suffix: str = "") -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{suffix}"
