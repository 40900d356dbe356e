"""Rigs: helpers that start the real parts a test needs, as processes of their own."""
