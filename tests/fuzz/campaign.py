"""How long to try, and with which seeds."""

import os


def seeds(rounds: int) -> range:
    """`rounds` is the short form; the environment may ask for more, or for one seed again."""
    first = int(os.environ.get("FUZZ_SEED", "0"))
    return range(first, first + int(os.environ.get("FUZZ_ROUNDS", rounds)))
