"""Commands on rules, messages and tables: check, covers, match, compile, inspect."""
