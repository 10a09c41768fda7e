"""Text and JSON forms of predicates and messages."""
