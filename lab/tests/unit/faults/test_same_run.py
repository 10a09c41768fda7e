"""A run in memory is determined by its seed."""

from cbnet_lab.faults.random_schedule import RandomSchedule


def run(seed):
    schedule = RandomSchedule(seed)
    schedule.run(12)
    deliveries = {name: client.deliveries for name, client in schedule.clients.items()}
    return schedule.memory.frames, schedule.memory.bytes, deliveries


def test_same_seed_gives_the_same_run_to_the_last_byte():
    assert run(3) == run(3)
    assert run(3) != run(4)
