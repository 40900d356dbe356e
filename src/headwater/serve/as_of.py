"""Positions as they stand in answers."""

from headwater.followers.changes import Positions


def as_of_answer(positions: Positions) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(positions.items())}
