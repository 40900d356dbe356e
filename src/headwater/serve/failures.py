"""Errors as answers: one form for all of them, and the status that fits."""

import logging
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from headwater.errors import (
    Conflict,
    Corruption,
    HeadwaterError,
    InvalidRequest,
    NotFound,
    NotSupported,
    TimedOut,
    Unauthorized,
    Unavailable,
)
from headwater.serve.answers import FailureAnswer

logger = logging.getLogger(__name__)

_STATUSES: Final[dict[type[BaseException], int]] = {
    InvalidRequest: 400,
    Unauthorized: 401,
    NotFound: 404,
    Conflict: 409,
    Corruption: 500,
    NotSupported: 501,
    Unavailable: 503,
    TimedOut: 504,
}
DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": FailureAnswer, "description": meaning}
    for status, meaning in {
        400: "The request is wrong, or has a parameter that there is not.",
        401: "A token is needed.",
        404: "There is no such thing.",
        408: "The body did not arrive.",
        409: "The present state forbids it.",
        413: "The body is too large.",
        500: "A view is damaged, and is built again; or the server made a mistake.",
        501: "The store of this view cannot do that.",
        503: "Not now: ask again.",
        504: "Not within the time given.",
    }.items()
}


def install(app: FastAPI) -> None:
    app.add_exception_handler(HeadwaterError, _ours)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _of_framework)
    app.add_exception_handler(Exception, _unexpected)


def answer_to(error: HeadwaterError) -> JSONResponse:
    status = next((_STATUSES[k] for k in type(error).__mro__ if k in _STATUSES), 500)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(content_of(error), status, headers)


def answer_and_close(error: HeadwaterError, status: int) -> JSONResponse:
    """The answer to a request that is not read to its end: the connection is of no use any more."""
    response = answer_to(error)
    response.status_code = status
    response.headers["Connection"] = "close"
    return response


def content_of(error: HeadwaterError) -> dict[str, Any]:
    return _content(type(error).__name__, error.what, error.hint, retriable=error.retriable)


def _content(kind: str, what: str, hint: str, *, retriable: bool) -> dict[str, Any]:
    return {"error": {"kind": kind, "what": what, "hint": hint, "retriable": retriable}}


async def _ours(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HeadwaterError)
    return answer_to(error)


async def _not_valid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return answer_to(InvalidRequest(f"the body is not JSON: {first['ctx']['error'].lower()}"))
    if first["loc"] == ("body",) and first["type"] == "model_attributes_type":
        return answer_to(
            InvalidRequest(
                "the body is not a JSON object, or not sent as one",
                hint="send: Content-Type: application/json",
            )
        )
    place = ".".join(str(each) for each in first["loc"][1:]) or "the request"
    return answer_to(InvalidRequest(f"{place}: {first['msg'].lower()}", hint="see /openapi.json"))


async def _of_framework(_: Request, error: Exception) -> JSONResponse:
    """No route, or not with this method."""
    assert isinstance(error, HTTPException)
    kind = NotFound.__name__ if error.status_code == 404 else InvalidRequest.__name__
    content = _content(kind, str(error.detail).lower(), "see /openapi.json", retriable=False)
    return JSONResponse(content, error.status_code, error.headers)


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    logger.error("a request failed", extra={"path": request.url.path}, exc_info=error)
    content = _content(
        "HeadwaterError", "the server made a mistake", "see its log", retriable=False
    )
    return JSONResponse(content, 500)
