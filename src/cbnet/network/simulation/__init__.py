"""Networks in memory with a simulated clock, and random schedules of failures."""
