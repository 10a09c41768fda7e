"""Links of a router, and what all its parts share: settings, clock, counters and actions."""
