"""Parameters that a route does not know are refused: without them it would answer another question."""

from collections import Counter
from typing import Final

from fastapi import Request
from fastapi.routing import APIRoute

from headwater.errors import InvalidRequest

REPEATABLE: Final = frozenset({"key", "wait_for"})


async def refuse_odd_parameters(request: Request) -> None:
    """A dependency of every route."""
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = [each.alias for each in route.dependant.query_params]
    hint = f"there are: {', '.join(known)}" if known else "this takes none"
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name, count in given.items():
        if name not in known:
            raise InvalidRequest(f"{name[:100]!r} is not a parameter of this address", hint=hint)
        if count > 1 and name not in REPEATABLE:
            raise InvalidRequest(f"the parameter {name!r} is given {count} times", hint="give one")
