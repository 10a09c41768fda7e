"""The driver of faults: schedules as data, carried out in networks in memory and of real processes."""
