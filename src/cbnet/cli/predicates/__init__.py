"""Commands on predicates, messages and tables: check, covers, match, compile, inspect."""
