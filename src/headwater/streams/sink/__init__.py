"""`write` and `writeStream` with `format("headwater")`: rows into topics, each batch exactly once."""
