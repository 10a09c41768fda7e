"""Cases and their load."""

import pytest

from cbnet.errors import InputError
from cbnet_lab.bench.router.load import CASES, Load, LoadProgress, chosen_cases


def test_cases_by_name():
    assert [case.name for case in chosen_cases(["tls", "fanout-1"])] == ["tls", "fanout-1"]
    with pytest.raises(InputError, match="unknown case 'fan'; use some of fanout-1, fanout-10"):
        chosen_cases(["fan"])


@pytest.mark.parametrize(
    ("name", "chosen", "measured"),
    [
        ("fanout-1", [1, 10_000, 1_000_000], [1, 10_000, 1_000_000]),
        ("tls", [1, 10_000, 1_000_000], [10_000]),
        ("transit", [1_000_000], [1_000_000]),
    ],
)
def test_filters_of_a_case(name, chosen, measured):
    assert CASES[name].filters(chosen) == measured


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_pools_hold_whole_batches_and_windows_at_least_two(case):
    assert len(case.load.pool()) % case.load.batch == 0
    assert case.load.window >= 2 * case.load.batch
    # A router queues at most 16 MiB for a client.
    assert case.load.window * (case.load.payload + 200) < 1 << 24


def test_several_publishers_send_single_messages():
    assert all(case.load.publishers == 1 or case.load.batch == 1 for case in CASES.values())


def test_window_is_shared_by_the_subscribers():
    assert Load().window == 10_000
    assert Load(subscribers=100, batch=20).window == 1_048  # 16 MiB // 100 // (100 + 60)
    assert Load(payload=10_000, batch=20).window == 833  # 8 MiB // (10,000 + 60)


def test_progress_of_a_run():
    progress = LoadProgress(7, 7, True)
    progress.reset()
    assert (progress.received, progress.total, progress.is_aborted) == (0, -1, False)
    progress.received, progress.total = 3, 5
    assert (progress.received, progress.total, progress.is_aborted) == (3, 5, False)
