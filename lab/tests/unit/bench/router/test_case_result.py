"""Figures of a case, computed by hand."""

from cbnet_lab.bench.router.comparison import Round, case_result
from cbnet_lab.bench.router.load import CASES
from cbnet_lab.bench.router.servers import SERVERS, RivalServer


def result(*rounds, case="fanout-10"):
    return case_result(CASES[case], RivalServer(SERVERS["nats"], (), None), rounds, [3.0])


def test_the_round_with_the_least_processor_time_counts():
    slow, quick = Round(1_000, 10_000, 0.5, [4_000.0]), Round(2_000, 20_000, 2.0, [6_000.0])
    row = result(slow, quick)
    assert (row.messages, row.deliveries) == (2_000, 20_000)
    assert (row.cpu_us_per_message, row.cpu_us_per_delivery) == (3.0, 0.3)
    assert row.rounds_cpu_us_per_message == [4.0, 3.0]
    assert (row.messages_per_s, row.rounds_messages_per_s) == (2_000, [2_000, 1_000])
    assert (row.rss_mb, row.problem, row.probe_p50_ms) == ([3.0], None, None)


def test_two_routers_in_a_row():
    row = result(Round(100, 100, 1.0, [200.0, 300.0]), case="transit")
    assert (row.cpu_us_per_message, row.process_cpu_us_per_message) == (5.0, [2.0, 3.0])


def test_latencies_of_all_rounds():
    rounds = [Round(1, 1, 1.0, [1.0], [n * 1_000_000 for n in part]) for part in (range(50), range(50, 101))]
    row = result(*rounds, case="probe")
    assert (row.probe_p50_ms, row.probe_p99_ms) == (50.0, 99.0)


def test_the_first_problem_counts():
    assert result(Round(1, 1, 1.0, [1.0]), Round(1, 0, 1.0, [1.0], (), "missing")).problem == "fanout-10, nats: missing"
