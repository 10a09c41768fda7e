"""Access control, rights, tokens and TLS."""
