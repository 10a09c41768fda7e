from cbnet_lab.bench.network.run_result import Cpu, Matching


def test_the_share_of_matching_is_that_of_all_routers():
    assert Matching(1000, 0.5).share(Cpu(9.0, [9.0], [1.5, 0.5])) == 0.25


def test_a_run_that_is_too_short_tells_no_share():
    assert Matching(1000, 0.01).share(Cpu(9.0, [9.0], [0.01, 0.0])) is None
