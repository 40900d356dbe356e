"""Fixtures for users' tests: `headwater_broker`."""
