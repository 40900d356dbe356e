"""A topic as a table of all its records: from its beginning to its end as of a refresh of a view.

A view that is computed anew reads all there is each time. Two reads of one topic in one refresh see the
same records, and a value that cannot be read goes to the dead letters in the first refresh that meets it.
"""
