"""Home records, known to every router: which homes must store a message."""
