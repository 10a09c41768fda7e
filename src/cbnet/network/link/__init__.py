"""What a link of a router is: its settings, its peer, its clock, and the actions on it."""
