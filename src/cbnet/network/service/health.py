"""Health: does a router live, and may work be given to it?

healthy    its event loop turns, and its clock with it
ready      it listens; it has its neighbours, or has waited long enough for them; it has learnt what they know;
           and it does not leave
"""

from __future__ import annotations

from cbnet.network.transport.tcp_router import TcpRouter

PATIENCE = 10.0  # seconds after the start, in which neighbours that are to be dialled must be there
_STILL = 5.0  # seconds without a tick, of which there are ten in a second


def health_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not healthy; nothing if it is."""
    silence = router.now - router.ticked
    return [f"its clock has stood still for {silence:.0f} s"] if silence > _STILL else []


def readiness_problems(router: TcpRouter) -> list[str]:
    """Return why a router is not ready; nothing if it is."""
    if router.is_draining:
        return ["it leaves"]
    if not router.is_listening:
        return ["it does not listen"]
    missing = sorted(name for name in router.neighbours if router.router.links.to(name) is None)
    found = health_problems(router)
    if missing and router.uptime < PATIENCE:
        found.append(f"no link to {', '.join(missing)} yet, for which it waits {PATIENCE:g} s from its start")
    if router.router.links.routers() and not router.router.is_synchronised:
        found.append("it has not learnt yet what its neighbours know")
    return found
