"""Health and readiness of a router.

healthy    its event loop runs
ready      it listens; it has its neighbours, or has waited long enough for them; it is synchronised with them;
           their announcements have arrived, or it has waited long enough for them; and it is not draining
"""

from __future__ import annotations

from cbnet.network.transport.tcp_router import TcpRouter

STARTUP = 10.0  # seconds after the start in which a missing neighbour makes a router unready
_NOTED = 1.0  # seconds without an announcement: every change of the topology takes some time
_MAX_SILENCE = 5.0  # seconds without a tick; there are ten per second


def health_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not healthy; empty if it is."""
    silence = router.now - router.ticked
    return [f"the event loop has not run for {silence:.0f} s"] if silence > _MAX_SILENCE else []


def readiness_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not ready; empty if it is."""
    if router.is_draining:
        return ["the router is draining"]
    if not router.is_listening:
        return ["the router is not listening"]
    missing = sorted(name for name in router.neighbours if router.router.links.to(name) is None)
    problems = health_problems(router)
    if missing and router.uptime < STARTUP:
        problems.append(f"no link to {', '.join(missing)} yet; waiting up to {STARTUP:g} s after the start")
    if router.router.links.routers() and not router.router.is_synchronised:
        problems.append("not yet synchronised with its neighbours")
    if not router.router.is_complete and router.uptime < STARTUP:
        problems.append("announcements of its neighbours have not arrived yet")
    return problems


def health_notes(router: TcpRouter) -> list[str]:
    """Return the neighbours that owe announcements, whose sides get all messages, and any problem of the journal."""
    silent = sorted(router.router.silent_neighbours.items())
    notes = [f"no announcement of {name} for {seconds:.0f} s" for name, seconds in silent if seconds >= _NOTED]
    return notes + [problem for problem in [router.router.durable.problem] if problem]
