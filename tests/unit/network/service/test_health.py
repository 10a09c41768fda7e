"""When a router is healthy, and when it is ready."""

from types import SimpleNamespace

from cbnet.network.service.health import health_problems, readiness_problems


def router(*, ticked=100.0, links=("b",), is_synchronised=True, uptime=1.0, is_listening=True, is_draining=False):
    state = SimpleNamespace(
        links=SimpleNamespace(to=lambda name: 1 if name in links else None, routers=lambda: list(links)),
        is_synchronised=is_synchronised,
    )
    return SimpleNamespace(
        now=100.0, ticked=ticked, neighbours={"b": None}, uptime=uptime, router=state, is_listening=is_listening,
        is_draining=is_draining,
    )  # fmt: skip


def test_a_router_is_healthy_while_its_clock_goes():
    assert health_problems(router(ticked=99.9)) == []
    assert health_problems(router(ticked=90.0)) == ["its clock has stood still for 10 s"]


def test_a_router_is_ready_with_its_neighbours_and_what_they_know():
    assert readiness_problems(router()) == []
    assert readiness_problems(router(is_synchronised=False)) == ["it has not learnt yet what its neighbours know"]
    assert readiness_problems(router(links=())) == ["no link to b yet, for which it waits 10 s from its start"]
    assert readiness_problems(router(links=(), is_synchronised=False, uptime=10.0)) == []  # it serves whom it can reach


def test_a_router_that_leaves_does_not_listen_or_stands_still_is_not_ready():
    assert readiness_problems(router(is_draining=True, is_listening=False)) == ["it leaves"]
    assert readiness_problems(router(is_listening=False)) == ["it does not listen"]
    assert readiness_problems(router(ticked=0.0)) == ["its clock has stood still for 100 s"]
