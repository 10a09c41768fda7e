"""Health and readiness of a router."""

from types import SimpleNamespace

from cbnet.network.http.monitoring.health import health_notes, health_problems, readiness_problems


def router(
    *,
    ticked=100.0,
    links=("b",),
    is_synchronised=True,
    is_complete=True,
    uptime=1.0,
    is_listening=True,
    is_draining=False,
    problem="",
):
    state = SimpleNamespace(
        links=SimpleNamespace(to=lambda name: 1 if name in links else None, routers=lambda: list(links)),
        is_synchronised=is_synchronised,
        is_complete=is_complete,
        silent_neighbours={"c": 0.4, "b": 12.3},
        durable=SimpleNamespace(problem=problem, notes=[problem] if problem else []),
    )
    return SimpleNamespace(
        now=100.0, ticked=ticked, neighbours={"b": None}, uptime=uptime, router=state, is_listening=is_listening,
        is_draining=is_draining,
    )  # fmt: skip


def test_router_is_healthy_while_its_event_loop_runs():
    assert health_problems(router(ticked=99.9)) == []
    assert health_problems(router(ticked=90.0)) == ["the event loop has not run for 10 s"]


def test_router_is_ready_when_linked_and_synchronised():
    assert readiness_problems(router()) == []
    assert readiness_problems(router(is_synchronised=False)) == ["not yet synchronised with its neighbours"]
    assert readiness_problems(router(links=())) == ["no link to b yet; waiting up to 10 s after the start"]
    assert readiness_problems(router(is_complete=False)) == ["announcements of its neighbours have not arrived yet"]
    assert readiness_problems(router(is_complete=False, uptime=10.0)) == []  # a change of the topology later
    assert readiness_problems(router(links=(), is_synchronised=False, uptime=10.0)) == []  # it serves what it can reach


def test_neighbours_that_owe_announcements_are_noted():
    assert health_notes(router(is_complete=False)) == ["no announcement of b for 12 s"]


def test_a_problem_of_the_journal_is_noted():
    problem = "the journal has not answered for 7 s"
    assert health_notes(router(problem=problem)) == ["no announcement of b for 12 s", problem]
    assert readiness_problems(router(problem=problem)) == [problem]


def test_draining_or_silent_router_is_not_ready():
    assert readiness_problems(router(is_draining=True, is_listening=False)) == ["the router is draining"]
    assert readiness_problems(router(is_listening=False)) == ["the router is not listening"]
    assert readiness_problems(router(ticked=0.0)) == ["the event loop has not run for 100 s"]
