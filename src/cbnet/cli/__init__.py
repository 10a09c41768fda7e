"""The command line: one module per command, with imports deferred until it is called."""
