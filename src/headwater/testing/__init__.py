"""The public testing kit: an in-process broker, a settable clock, crash points.

from headwater.testing import Broker

def test_my_service():
    with Broker() as broker:
        my_service.run(bootstrap=broker.bootstrap)

Nothing is loaded before its first use: pytest imports this package wherever Headwater is installed.
"""

from typing import TYPE_CHECKING

from headwater.lazy_names import lazy_names

if TYPE_CHECKING:
    from headwater.testing.broker import Broker as Broker
    from headwater.testing.clock import SettableClock as SettableClock
    from headwater.testing.pipeline_run import run as run
    from headwater.testing.view_server import ViewServer as ViewServer

__all__ = ["Broker", "SettableClock", "ViewServer", "run"]

_HOMES = {
    "Broker": "headwater.testing.broker",
    "SettableClock": "headwater.testing.clock",
    "ViewServer": "headwater.testing.view_server",
    "run": "headwater.testing.pipeline_run",
}


if not TYPE_CHECKING:  # a type checker that sees it believes in every name
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
