"""What a client may do, as bit fields: without security everything that the resource knows."""

from typing import Final

NOT_REQUESTED: Final = -(2**31)
ALL_ON_CLUSTER: Final = 0b1_1111_1010_0000
ALL_ON_TOPIC: Final = 0b1101_1111_1000


def allowed(operations: int, *, is_requested: bool) -> int:
    return operations if is_requested else NOT_REQUESTED
