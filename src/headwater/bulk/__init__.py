"""Topics as Arrow, read and written in bulk: Python runs per batch and per column, never per record.

The same against our broker and Apache Kafka. The ways in are `BulkReader` and `TransactionalProducer`; both
need the `spark` extra.
"""
