"""`make demo`: what the broker promises, watched while it happens."""
