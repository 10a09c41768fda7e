"""The log of a home: its messages in memory and on disk, the cursors of subscriptions, and the journal's contract."""
