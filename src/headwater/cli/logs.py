"""Structured logs on stderr: a line for people, or one JSON document per line."""

import json
import logging
import sys
from typing import Any

from headwater.errors import InvalidRequest

_STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{name}={value}" for name, value in _extra(record).items())
        line = super().format(record)
        return f"{line} {extra}" if extra else line


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        content = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        return json.dumps(content, default=str)


def configure_logs(level: str, style: str) -> None:
    """Send logs to stderr; raises `InvalidRequest` for a level or a format there is not."""
    if style not in ("text", "json"):
        raise InvalidRequest(f"log_format must be text or json, not {style!r}")
    if level not in ("debug", "info", "warning", "error"):
        raise InvalidRequest(f"log_level must be debug, info, warning or error, not {level!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if style == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}
