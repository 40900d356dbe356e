"""Receipts of producers, as requests give them: in JSON as it is, or as `topic/partition/offset`."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from headwater.errors import InvalidRequest

MOST: Final = 100
_HINT: Final = 'give a receipt: orders/0/41, or {"topic":"orders","partition":0,"offset":41}'


@dataclass(frozen=True, slots=True)
class Receipt:
    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


class ReceiptObject(BaseModel):
    """A receipt as a producer has it; what else it says makes no difference here."""

    topic: str = Field(min_length=1)
    partition: int = Field(ge=0, strict=True)
    offset: int = Field(ge=0, strict=True)


def _in_our_words(given: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Not those about each of the forms that a receipt may have."""
    try:
        return check(given)
    except ValidationError as error:
        raise _refusal(given) from error


GivenReceipt = str | ReceiptObject
GivenReceipts = Annotated[
    GivenReceipt | Annotated[list[GivenReceipt], Field(max_length=MOST)] | None,
    WrapValidator(_in_our_words),
]


def parse_receipts(given: GivenReceipts) -> list[Receipt]:
    """Raises `InvalidRequest` for what is none."""
    if given is None:
        return []
    return [parse_receipt(each) for each in (given if isinstance(given, list) else [given])]


def parse_receipt(given: GivenReceipt) -> Receipt:
    if isinstance(given, ReceiptObject):
        found = Receipt(given.topic, given.partition, given.offset)
        return _checked(found, str(found))
    try:
        if given.lstrip().startswith("{"):
            content = json.loads(given)
            found = Receipt(content["topic"], content["partition"], content["offset"])
        else:
            topic, partition, offset = given.strip().rsplit("/", 2)
            found = Receipt(topic, int(partition), int(offset))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refusal(given) from error
    return _checked(found, given)


def _checked(found: Receipt, given: str) -> Receipt:
    numbers = (found.partition, found.offset)
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in numbers):
        raise _refusal(given)
    if not isinstance(found.topic, str) or not found.topic:
        raise _refusal(given)
    return found


def _refusal(given: Any) -> InvalidRequest:
    return InvalidRequest(f"{str(given)[:100]!r} is not a receipt", hint=_HINT)
