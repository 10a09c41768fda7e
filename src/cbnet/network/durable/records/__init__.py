"""Home records: who must store a message, known to every router."""
