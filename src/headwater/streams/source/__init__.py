"""`spark.read` and `spark.readStream` with `format("headwater")`: topics as rows, in Arrow all the way."""
