from collections import Counter

from cbnet_lab.faults.history_plan import PROCESS_FAULTS, HistoryPlan


def test_a_seed_gives_the_same_plan_again():
    assert HistoryPlan.of_processes(7) == HistoryPlan.of_processes(7)
    assert HistoryPlan.of_processes(7) != HistoryPlan.of_processes(8)


def test_plans_have_all_faults_of_parts_that_exist_one_at_a_time():
    kinds = Counter()
    for plan in map(HistoryPlan.of_processes, range(100)):
        links = {"-".join(link) for link in plan.links}
        clients = {client for each in plan.subscriptions for client in each.clients}
        assert set(plan.publishers) == {f"p{n}" for n in range(len(plan.publishers))}
        last = {}
        for fault in plan.faults:
            assert fault.of in {*plan.routers, *links, *clients, *plan.groups}
            assert last.get(fault.of, 0) < fault.at < plan.seconds
            last[fault.of] = fault.end
            kinds[fault.kind] += 1
    assert set(kinds) == set(PROCESS_FAULTS)


def test_some_plans_have_home_groups_in_a_database_and_some_have_accounts():
    plans = [*map(HistoryPlan.of_processes, range(100))]
    assert {plan.database for plan in plans} == {"", "alone", "replicated"}
    assert all(bool(plan.groups) == bool(plan.database) for plan in plans)
    limited = [plan for plan in plans if any(each.limit for each in plan.subscriptions)]
    assert 10 < len(limited) < 60
