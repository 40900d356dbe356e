"""How many examples a test tries: few in `make test`, many times as many in `make fuzz`."""

times = 1
"""Set by `--times` before tests are collected."""


def examples(few: int) -> int:
    """Return how many examples to try where `make test` tries a `few`."""
    return few * times
