"""The driver of faults: schedules as data, carried out in simulated networks and networks of real processes."""
