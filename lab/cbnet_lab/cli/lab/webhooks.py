"""`cbnet lab webhooks`: example files of nested events and of rules over them."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import option
from cbnet.files import unwritable
from cbnet_lab.bench.plan_options import seed
from cbnet_lab.cli.bench.plan_command import plan_function

# field of an event -> first word of the rule's name, team
_KINDS = {"order": ("order", "shop"), "pull_request": ("pull-request", "code"), "detail": ("cluster", "cluster")}


@dataclass(frozen=True)
class WebhooksPlan:
    """Write webhooks of a shop, of a code host and of a cluster, and EventBridge rules over them.

    Example: cbnet lab webhooks --output webhooks
    """

    output: Path = option(..., "FOLDER", "Folder for the files.", name="--output -o", shown=False)
    rules: int = option(200, "N", "Number of rules.", least=1)
    events: int = option(10_000, "N", "Number of events.", least=1)
    seed: int = seed()


def _write_files(plan: WebhooksPlan, as_json: bool) -> None:
    from cbnet_lab.workload.events import SMALL, event, many, pattern

    written = {"events": plan.output / "events.jsonl", "rules": plan.output / "rules.jsonl"}
    try:
        plan.output.mkdir(parents=True, exist_ok=True)
        _write(written["events"], many(event, plan.events, plan.seed + 1, SMALL))
        numbered = enumerate(many(pattern, plan.rules, plan.seed, SMALL))
        _write(written["rules"], [{"dialect": "eventbridge"}, *map(_rule, numbered)])
    except OSError as error:
        raise unwritable(plan.output, error) from None
    if as_json:
        print_json({name: str(path) for name, path in written.items()})
    else:
        print_note(f"wrote {plan.events:,} events to {written['events']}, {plan.rules:,} rules to {written['rules']}")


webhooks = plan_function(WebhooksPlan, _write_files)


def _rule(numbered: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a rule whose name contains the fields that it tests."""
    number, pattern = numbered
    field = next((field for field in _KINDS if field in pattern), "detail")  # `$or` stands above its fields
    kind, team = _KINDS[field]
    tested = [name for name in pattern.get(field, ()) if name not in ("base", "state")]  # these are in most rules
    name = "-".join([kind, *tested, str(number)])
    return {"name": name, "when": pattern, "priority": number % 3, "metadata": {"team": team}}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json_text.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
