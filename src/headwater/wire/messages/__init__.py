"""One module per API, written by tools/generate_messages.py."""
