"""What a home does with a message: store, refuse or hold it back, and answer."""
