"""Files of predicates and of messages."""
