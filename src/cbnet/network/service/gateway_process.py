"""A process that runs a gateway: its routers share one event loop and stop together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

from cbnet.network.protocol.addresses import Address
from cbnet.network.router.gateway import Gateway
from cbnet.network.service.gateway_file import GatewayPlan
from cbnet.network.service.router_process import http_server, notify_systemd, shutdown_events, wait_first
from cbnet.network.transport.tcp_router import TcpRouter

_TICK = 0.1  # seconds


async def serve_gateway(
    plan: GatewayPlan, *, on_start: Callable[[Mapping[str, Address]], None] = lambda _: None
) -> None:  # fmt: skip
    """Run a gateway until SIGTERM or SIGINT; on_start: called with its addresses, by network."""
    drain, stop = shutdown_events(None)
    async with AsyncExitStack() as stack:
        routers: dict[str, TcpRouter] = {}
        for each in plan.sides:
            router = TcpRouter(each.settings, each.listen, each.neighbours, each.security)
            router.event_log.context = {"network": each.settings.network}
            await router.start()
            stack.push_async_callback(router.stop)
            await stack.enter_async_context(http_server(router, each.process.http))
            routers[each.settings.network] = router
        soon = asyncio.get_running_loop().call_soon
        gateway = Gateway(plan.name, list(routers.values()), plan.outside, soon=soon)
        ticking = asyncio.ensure_future(_tick(gateway))
        stack.callback(ticking.cancel)
        on_start({network: router.address for network, router in routers.items()})
        notify_systemd("READY=1")
        await drain.wait()
        notify_systemd("STOPPING=1")
        seconds = plan.sides[0].process.drain
        if seconds and not stop.is_set():
            gateway.leave()
            await wait_first(_drain(list(routers.values()), seconds), stop.wait())


async def _tick(gateway: Gateway) -> None:
    while True:
        gateway.tick()
        await asyncio.sleep(_TICK)


async def _drain(routers: list[TcpRouter], seconds: float) -> None:
    await asyncio.gather(*(router.drain(seconds) for router in routers))
