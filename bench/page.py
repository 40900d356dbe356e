"""docs/benchmarks.md: a part for each benchmark with results, from its JSON and its text in bench/pages."""

from typing import Final

from results import ROOT, Results, file_of
from tables import markdown

DOCS_FILE: Final = ROOT / "docs" / "benchmarks.md"
PAGES: Final = ROOT / "bench" / "pages"
BENCHMARKS: Final = ("broker", "transactions", "source", "sink", "latency", "views")


def write() -> None:
    measured = [each for each in BENCHMARKS if file_of(each).exists()]
    parts = [(PAGES / "head.md").read_text(), *(_part(Results.load(each)) for each in measured)]
    DOCS_FILE.write_text("\n".join(each.strip() + "\n" for each in parts))


def _part(found: Results) -> str:
    host = found.machine
    return (
        (PAGES / f"{found.benchmark}.md")
        .read_text()
        .format(
            command=found.command,
            measured_at=found.measured_at[:10],
            host=f"{host['cores']} cores ({host['processor']}), {host['memory_gb']} GB, "
            f"{host['system']}, Python {host['python']}",
            samples=file_of(found.benchmark).relative_to(ROOT),
            table=markdown(found.rows()),
            cores=markdown(found.core_rows()),
            notes="".join(f"- {note}\n" for note in found.notes),
        )
    )
