from cbnet_lab.bench.network.throughput import matching_share


def test_the_share_of_matching_is_that_of_all_routers():
    assert matching_share(0.5, [1.5, 0.5]) == 0.25


def test_a_run_that_is_too_short_tells_no_share():
    assert matching_share(0.01, [0.01, 0.0]) is None
