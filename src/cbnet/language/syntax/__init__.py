"""The text and JSON forms of predicates and messages, read and written."""
