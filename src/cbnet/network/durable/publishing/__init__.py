"""Messages of this router's clients that wait to be stored by homes."""
