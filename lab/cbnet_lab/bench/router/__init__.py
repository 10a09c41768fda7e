"""One router process beside topic brokers, under load of pre-encoded messages."""
