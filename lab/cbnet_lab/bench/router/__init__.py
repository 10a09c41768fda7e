"""One router process compared with topic brokers, under a load of pre-encoded messages."""
