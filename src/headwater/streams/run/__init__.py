"""Running pipelines: from a checked graph to queries of one Spark application."""
