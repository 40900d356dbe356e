"""Topics as Arrow, read and written in bulk: no record ever becomes a Python object.

The same against our broker and Apache Kafka. `BulkReader` and `TransactionalProducer` are the ways in; they need
the `spark` extra.
"""
