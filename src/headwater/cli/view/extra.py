"""Serving views needs packages that the core does not."""

from importlib.util import find_spec

from headwater.errors import NotSupported


def require_serve_extra() -> None:
    missing = [each for each in ("fastapi", "uvicorn", "httptools") if find_spec(each) is None]
    if missing:
        raise NotSupported(
            f"serving views needs what is not installed: {', '.join(missing)}",
            hint="pip install 'headwater[serve]'",
        )
