"""The web application: routes, error answers and the guard, put together."""

from typing import Any

from fastapi import Depends, FastAPI

from headwater.serve import failures, query, rows, subscribe, views
from headwater.serve.guard import OPEN_PATHS, Guard
from headwater.serve.parameters import refuse_odd_parameters
from headwater.serve.serving import Serving

_ABOUT = """Views that are kept equal to their topics: look them up, query them, subscribe to them.

Every answer carries `as_of`, the offsets of the changelog that it is true of. A request with a parameter
that is not documented, or twice with one that is no list, is refused (400)."""


def make_app(serving: Serving) -> FastAPI:
    app = FastAPI(
        title="Headwater views",
        version="1",
        description=_ABOUT,
        # Their pages would load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        # What is not a route is answered as such, not sent elsewhere.
        redirect_slashes=False,
    )
    failures.install(app)
    for each in (views, rows, query, subscribe):
        checked = [Depends(refuse_odd_parameters)]
        app.include_router(each.router(serving), prefix="/v1", dependencies=checked)
    settings = serving.settings
    _correct_schema(app.openapi(), needs_token=bool(settings.token))
    app.add_middleware(Guard, token=settings.token, max_request_bytes=settings.max_request_bytes)
    return app


def _correct_schema(schema: dict[str, Any], *, needs_token: bool) -> None:
    """What is not valid is answered with 400, and who needs a token is told how to send it."""
    for path, operations in schema["paths"].items():
        for each in operations.values():
            each["responses"].pop("422", None)
            if needs_token and path not in OPEN_PATHS:
                each["security"] = [{"token": []}]
    for unused in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(unused, None)
    if needs_token:
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
