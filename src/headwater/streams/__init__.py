"""Streams on Spark: source, sink, pipelines; pyspark is imported only by what runs."""

from headwater.streams.register import register

__all__ = ["register"]
