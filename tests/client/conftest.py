"""The fixtures of a test that is a client of the broker under test."""

from rigs.async_program import run
from rigs.client_fixtures import client, group, new_topic, topic

__all__ = ["client", "group", "new_topic", "run", "topic"]
