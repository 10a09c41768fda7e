"""The demo: an example, the tables of a small Internet built on Spark, and a live network that starts from them."""
