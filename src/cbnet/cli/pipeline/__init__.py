"""Commands that run on Spark: `cbnet pipeline` and `cbnet spark`."""
