"""Topics as Arrow, read and written in bulk: no record ever becomes a Python object.

The same against our broker and Apache Kafka. The ways in are `BulkReader` and `TransactionalProducer`; both
need the `spark` extra.
"""
