from cbnet_lab.experiments.y2006.monte_carlo import specific_advantages


def test_number_of_processes_does_not_change_results():
    arguments = {"scenarios": ["uniform-50"], "sets": 5, "max_predicates": 100, "seed": 4}
    done = []
    parallel = specific_advantages(**arguments, processes=2, progress=lambda *counts: done.append(counts))
    assert parallel.equals(specific_advantages(**arguments, processes=1))
    assert done == [(count, 5) for count in range(1, 6)]
