"""The shape of a JSON value: all of its bytes but those of its scalars (text, numbers, true, false, null).

In values without backslashes every quote opens or closes a text. So where the quotes are says where the
scalars are, if the bytes between them are those of the shape. `json_alike.py` looks at these.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.bulk.json_block import REACH, WORD, Flags, Places, Words
from headwater.bulk.varints import Numbers

_BARE: Final = re.compile(rb'[^\s"{}\[\]:,]+')
_WANTED_SHARE: Final = 3
"""One of so many scalars must be asked for: of fewer, a parser that skips the others is quicker."""


class Slot(NamedTuple):
    """What a shape has for one part of the columns' type; parts are in the order in which they are written.

    Of a part within an array there may be several in a value, or none.
    """

    numbers: Numbers
    """Which scalars, if the part is made of scalars; how many elements, if it is an array."""
    is_null: Flags


@dataclass(frozen=True, slots=True)
class Shape:
    """What all values of a shape have in common."""

    quotes: int
    slots: Sequence[Slot]
    skipped: Numbers
    """Scalars without quotes that no column asks for."""
    bounds: Places
    """Where each scalar starts and ends, in turns; of text what is between the quotes."""
    words: Places
    """Some bytes each, which together are all that is not of a scalar."""
    expected: Words
    masks: Words
    size_after_last_quote: int | None
    """None if there is a scalar."""


class _Misfit(Exception):
    """The value is none of JSON, or not one whose scalars the columns take as they are."""


class _Text:
    """A value as its scalars (numbered in order) and the rest."""

    def __init__(self, value: bytes) -> None:
        self.pieces: Final = value.split(b'"')
        """Between, and within, quotes, in turns."""
        self.scalars: Final[list[bytes | None]] = []
        """As they are written, None for text."""
        self._of_piece: Final[dict[int, int]] = {}
        outline = b"".join(self._outlined())
        try:
            self.tree: Any = json.loads(outline)
        except (ValueError, RecursionError) as error:
            raise _Misfit from error

    def _outlined(self) -> Iterator[bytes]:
        """Yield the value with numbers for its scalars, set apart: what stood side by side stays two."""
        for at, piece in enumerate(self.pieces):
            if at % 2 == 0:
                found = _BARE.findall(piece)
                if len(found) > 1:
                    raise _Misfit  # the quotes do not say where one ends
                yield _BARE.sub(self._numbered(at, found[0]), piece) if found else piece
            elif self.pieces[at + 1].lstrip().startswith(b":"):
                yield b'"%s"' % piece
            else:
                yield self._numbered(at, None)

    def _numbered(self, at: int, scalar: bytes | None) -> bytes:
        self._of_piece[at] = len(self.scalars)
        self.scalars.append(scalar)
        return b" %d " % self._of_piece[at]

    def scalar_of(self, piece: int) -> int | None:
        return self._of_piece.get(piece)


def shape_of(value: bytes, kind: pa.StructType) -> Shape | None:
    """Return the shape of a value without backslashes; None if its kind is better read by a parser."""
    if value.count(b'"') % 2:
        return None
    try:
        text = _Text(value)
        asked = _Asked(text)
        asked.walk(kind, [text.tree])
    except _Misfit:
        return None
    if len(asked.scalars) * _WANTED_SHARE < len(text.scalars) or not text.scalars:
        return None
    return _Outline(text, asked).shape()


class _Asked:
    """Which scalars the columns ask for."""

    def __init__(self, text: _Text) -> None:
        self._text = text
        self.slots: Final[list[Slot]] = []
        self.scalars: Final[set[int]] = set()
        self.nulls: Final[set[int]] = set()
        """Those that stand for text, an object or an array."""

    def walk(self, kind: pa.DataType, nodes: Sequence[Any]) -> None:
        """Note what a part of the columns is made of: objects, arrays, scalars (by number) or nothing.

        Raises `_Misfit` where a column does not take what is there, or not without a closer look.
        """
        for each in nodes:
            if isinstance(each, int):
                self._scalar(kind, each)
        if pa.types.is_struct(kind):
            objects = _only(dict, nodes)
            self._note([0] * len(nodes), [each is None for each in objects])
            for member in kind:
                self.walk(member.type, [(each or {}).get(member.name) for each in objects])
        elif pa.types.is_list(kind):
            lists = _only(list, nodes)
            self._note([len(each or ()) for each in lists], [each is None for each in lists])
            self.walk(kind.value_type, list(chain.from_iterable(each or () for each in lists)))
        else:
            numbers = _only(int, nodes)
            is_null = [each is None or each in self.nulls for each in numbers]
            self._note([each or 0 for each in numbers], is_null)

    def _note(self, numbers: list[int], are_null: list[bool]) -> None:
        flags = np.array(are_null, dtype=np.bool_)
        self.slots.append(Slot(np.array(numbers, dtype=np.int64), flags))

    def _scalar(self, kind: pa.DataType, number: int) -> None:
        self.scalars.add(number)
        scalar = self._text.scalars[number]
        if scalar is None:
            if not is_text(kind):
                raise _Misfit
        elif is_text(kind) or pa.types.is_nested(kind):
            if scalar != b"null":
                raise _Misfit
            self.nulls.add(number)


def _only(wanted: type, nodes: Sequence[Any]) -> list[Any]:
    """Return what is there; None where there is nothing, or null."""
    for each in nodes:
        if each is not None and not isinstance(each, wanted | int):
            raise _Misfit
    return [each if isinstance(each, wanted) else None for each in nodes]


def is_text(kind: pa.DataType) -> bool:
    """Whether a column takes its values from text alone."""
    return bool(pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_date32(kind))


class _Outline:
    """Finds where things are: pieces of a value are numbered like the mark (start or quote) before them.

    The bytes that are not of scalars come in runs, from one scalar to the next. A run is looked for where
    the scalar before it ends: at the quote that closes it, or a known way before the next quote.
    """

    def __init__(self, text: _Text, asked: _Asked) -> None:
        self._text, self._asked = text, asked
        self._bounds: list[tuple[int, int]] = []
        self._words: list[tuple[int, int, bytes]] = []
        self._anchor, self._run = (0, 0), b""

    def shape(self) -> Shape | None:
        pieces = self._text.pieces
        for at, piece in enumerate(pieces):
            number = self._text.scalar_of(at)
            if number is None:
                self._run += piece
            elif (scalar := self._text.scalars[number]) is None:
                self._hole((at, 1), (at + 1, 0))
            else:
                before, after = piece.split(scalar)
                self._run += before
                if number in self._asked.nulls:
                    self._bounds += [(at, 1 + len(before))] * 2
                    self._run += scalar + after
                else:
                    self._hole((at, 1 + len(before)), (at + 1, -len(after)))
                    self._run += after
            if at + 1 < len(pieces):
                self._run += b'"'
        self._end_run()
        return self._made() if max(abs(shift) for _, shift, _ in self._words) < REACH else None

    def _hole(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self._bounds += [start, end]
        self._end_run()
        self._anchor = end

    def _end_run(self) -> None:
        column, shift = self._anchor
        for at in range(0, len(self._run), WORD):
            first = max(0, min(at, len(self._run) - WORD))
            self._words.append((column, shift + first, self._run[first : first + WORD]))
        self._run = b""

    def _made(self) -> Shape:
        scalars, nulls = self._text.scalars, self._asked.nulls
        bare = {at for at, each in enumerate(scalars) if each is not None and at not in nulls}
        last = len(self._text.pieces) - 1
        marks, shifts, words = zip(*self._words, strict=True)
        return Shape(
            quotes=last,
            slots=self._asked.slots,
            skipped=np.array(sorted(bare - self._asked.scalars), dtype=np.int64),
            bounds=_places(*zip(*self._bounds, strict=True)),
            words=_places(marks, shifts),
            expected=_words([each.ljust(WORD, b"\0") for each in words]),
            masks=_words([(b"\xff" * len(each)).ljust(WORD, b"\0") for each in words]),
            size_after_last_quote=(
                None if self._text.scalar_of(last) in bare else len(self._text.pieces[last])
            ),
        )


def _places(marks: Sequence[int], shifts: Sequence[int]) -> Places:
    return Places(np.array(marks, dtype=np.int64), np.array(shifts, dtype=np.int64))


def _words(texts: list[bytes]) -> Words:
    return np.frombuffer(b"".join(texts), dtype="<u8")
