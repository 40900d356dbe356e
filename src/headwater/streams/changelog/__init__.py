"""A changelog topic as a table: the last row of each key, for streams to join with.

Spark reads the static side of a join anew for each batch. What it reads is pinned: a batch that is repeated
sees the table as it was, and a batch costs what changed since the last one, not the whole topic.
"""
