"""`cbnet lab webhooks`: example files of nested events and of rules over them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import JSON, option
from cbnet.files import unwritable
from cbnet_lab.bench.plan_options import seed

# field of an event -> first word of the rule's name, team
_KINDS = {"order": ("order", "shop"), "pull_request": ("pull-request", "code"), "detail": ("cluster", "cluster")}


def webhooks(
    output: Path = option(..., "FOLDER", "Folder for the files.", name="--output -o", shown=False),
    rules: int = option(200, "N", "Number of rules.", least=1),
    events: int = option(10_000, "N", "Number of events.", least=1),
    seed: int = seed(),
    as_json: bool = JSON,
) -> None:
    """Write webhooks of a shop, of a code host and of a cluster, and EventBridge rules over them.

    Example: cbnet lab webhooks --output webhooks
    """
    from cbnet_lab.workload.events import SMALL, event, many, pattern

    written = {"events": output / "events.jsonl", "rules": output / "rules.jsonl"}
    try:
        output.mkdir(parents=True, exist_ok=True)
        _write(written["events"], many(event, events, seed + 1, SMALL))
        numbered = enumerate(many(pattern, rules, seed, SMALL))
        _write(written["rules"], [{"dialect": "eventbridge"}, *map(_rule, numbered)])
    except OSError as error:
        raise unwritable(output, error) from None
    if as_json:
        print_json({name: str(path) for name, path in written.items()})
    else:
        print_note(f"wrote {events:,} events to {written['events']}, {rules:,} rules to {written['rules']}")


def _rule(numbered: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    """Return a rule whose name contains the fields that it tests."""
    number, pattern = numbered
    field = next((field for field in _KINDS if field in pattern), "detail")  # `$or` stands above its fields
    kind, team = _KINDS[field]
    tested = [name for name in pattern.get(field, ()) if name not in ("base", "state")]  # these are in most rules
    name = "-".join([kind, *tested, str(number)])
    return {"name": name, "when": pattern, "priority": number % 3, "metadata": {"team": team}}


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
