"""Messages of this router's clients that wait for homes."""
