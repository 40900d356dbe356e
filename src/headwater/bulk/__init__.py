"""Ranges of topics as Arrow, in bulk: no record ever becomes a Python object.

The same against our broker and Apache Kafka. `BulkReader` is the way in; it needs the `spark` extra.
"""
