"""Streams on Spark: source, sink, pipelines; pyspark is imported only by what runs."""
