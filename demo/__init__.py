"""`make demo`: the whole way from producers to served views, through two kills, compared with SQL."""
