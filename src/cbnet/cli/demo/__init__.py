"""The demo: who wants what, tables made on Spark, and a live network that starts from them."""
