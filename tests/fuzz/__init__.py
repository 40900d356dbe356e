"""Bytes that no client should send. The short form runs with the tests.

For a long one:

FUZZ_ROUNDS=2000 python -m pytest tests/fuzz

A failure names its seed; `FUZZ_SEED=<seed> FUZZ_ROUNDS=1` runs that one again.
"""
