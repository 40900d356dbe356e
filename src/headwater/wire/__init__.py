"""Bytes to Kafka messages and record batches, and back. No sockets, no files."""
