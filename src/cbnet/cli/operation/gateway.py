"""`cbnet gateway`: run a gateway between domains, configured by a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import JSON, argument, flag

if TYPE_CHECKING:
    from cbnet.network.protocol.addresses import Address
    from cbnet.network.service.gateway_file import GatewayPlan


def gateway(
    config: Path = argument(..., "CONFIG.toml", "File with a table for each domain."),
    check: bool = flag("Check the file and exit."),
    json: bool = JSON,
) -> None:
    """Run a gateway, a router in two or more networks, until Ctrl-C or SIGTERM. SIGHUP reloads the file.

    Example: cbnet gateway gateway.toml
    """
    from cbnet.network.service.gateway_file import read_gateway

    plan = read_gateway(config)
    if not check:
        _run(plan, lambda: read_gateway(config), as_json=json)
        return
    if json:
        print_json({"gateway": plan.name, "networks": plan.networks, "ok": True})
    else:
        print(f"the configuration of {plan.name}, between {' and '.join(plan.networks)}, is valid")


def _run(plan: GatewayPlan, read: Callable[[], GatewayPlan], *, as_json: bool) -> None:
    from cbnet.network.logs import configure, open_audit_log, use_audit_log
    from cbnet.network.service.router_process import serve_gateway
    from cbnet.network.transport.event_loop import run_router

    def on_start(addresses: Mapping[str, Address]) -> None:
        for network, address in addresses.items():
            if as_json:
                print_json({"gateway": plan.name, "network": network, "address": str(address)})
            else:
                print(f"gateway {plan.name} listens on {address} in {network}")
        sys.stdout.flush()

    process = plan.sides[0].process
    configure(process.log, process.log_level, plan.name)
    use_audit_log(open_audit_log(process.audit, plan.name))
    run_router(serve_gateway(plan, on_start, read))
    if process.log == "text":
        print_note(f"gateway {plan.name} has stopped")
