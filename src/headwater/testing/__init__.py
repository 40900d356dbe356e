"""The public testing kit: an in-process broker, a settable clock, crash points.

from headwater.testing import Broker

def test_my_service():
    with Broker() as broker:
        my_service.run(bootstrap=broker.bootstrap)
"""

from headwater.testing.broker import Broker
from headwater.testing.clock import SettableClock

__all__ = ["Broker", "SettableClock"]
