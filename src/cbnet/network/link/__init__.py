"""Links of a router, and the state that all its parts share: settings, clock, counters and actions."""
