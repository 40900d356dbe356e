"""A server of views beside a broker: a process of its own, so that no query slows the broker down."""

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from headwater.cli.session import Session
from headwater.cli.taken import failure_to_listen, is_locked
from headwater.cli.view.extra import require_serve_extra
from headwater.config import VIEWS, BrokerSettings, refuse_open_door, resolve_family
from headwater.errors import Unavailable

logger = logging.getLogger(__name__)

_RESTART_S: Final = 1.0


class ViewProcess:
    """`headwater view serve`, started again if it dies, gone when the broker is."""

    def __init__(self, session: Session, settings: BrokerSettings, config: Path) -> None:
        require_serve_extra()
        token = resolve_family(VIEWS, {}, os.environ, config).settings.token
        refuse_open_door(settings.http, token)
        failure = failure_to_listen(settings.http, "http")
        if failure is not None and not is_ending(settings):
            reason = (failure.strerror or str(failure)).lower()
            raise Unavailable(
                f"cannot serve views on {settings.http}: {reason}",
                hint="is another server running there? choose another --http",
            ) from failure
        self._command = [
            *(sys.executable, "-m", "headwater", "view", "serve", "--until-stdin-closes"),
            *("--http", settings.http, "--data", str(_data(settings))),
            *("--log-level", settings.log_level, "--log-format", settings.log_format),
            *(("--config", str(config)) if config.exists() else ()),
            *(["--json"] if session.output.is_json else []),
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, bootstrap: str) -> None:
        command = [*self._command, "--bootstrap", bootstrap]
        self._thread = threading.Thread(target=self._keep_running, args=(command,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping.set()
        if self._process is not None:
            self._process.terminate()
        if self._thread is not None:
            self._thread.join()

    def _keep_running(self, command: list[str]) -> None:
        while not self._is_stopping.is_set():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE)
            status = self._process.wait()
            if status == 0:  # Ctrl-C reaches it too
                return
            if not self._is_stopping.wait(_RESTART_S):
                logger.warning("the server of views is started again", extra={"status": status})


def is_ending(settings: BrokerSettings) -> bool:
    """Whether the views of an earlier run are still there: they end with their broker."""
    return is_locked(_data(settings) / "lock")


def _data(settings: BrokerSettings) -> Path:
    return Path(settings.data) / "views"
