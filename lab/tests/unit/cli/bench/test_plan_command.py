"""Commands made from plans."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from cbnet.cli.options import argument, flag, option, with_options
from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench.plan_options import numbers, seed
from cbnet_lab.bench.result_table import HIDDEN, ResultTable
from cbnet_lab.cli.bench.plan_command import plan_command


@dataclass(frozen=True)
class Plan:
    """Count sheep.

    Example: count field
    """

    place: str = argument(..., "PLACE", "Where.", shown=False)
    sizes: tuple[int, ...] = option("1,2", "N,...", "Sizes.", parse=numbers)
    kinds: tuple[str, ...] = option((), "KIND", "Kinds; repeatable.", name="--kind -k")
    limit: int | None = option(None, "N", "Limit.", least=1)
    is_fast: bool = flag("Faster.", name="--fast")
    seed: int = seed()


@dataclass(frozen=True)
class Sheep:
    size: int
    problem: str | None = field(default=None, metadata=HIDDEN)


class Benchmark(ModuleType):
    """A benchmark whose rows are the sizes of the plan; 13 is wrong."""

    plans: Sequence[Plan] = ()

    def run(self, plan, report):
        report("counting")
        self.plans = [*self.plans, plan]
        for size in plan.sizes:
            yield Sheep(size, f"{size} sheep" if size == 13 else None)

    def tables(self, plan, rows):
        yield f"in {plan.place}"
        yield ResultTable("Sheep", rows, {"size": "size"})

    def notes(self, _plan):
        yield "counting sheep"


@pytest.fixture
def count(monkeypatch):
    benchmark = Benchmark("sheep")
    monkeypatch.setitem(sys.modules, "sheep", benchmark)
    app = typer.Typer()
    app.command()(with_options(plan_command(Plan, "sheep")))

    def run(*arguments):
        outcome = CliRunner().invoke(app, arguments)
        outcome.plans = benchmark.plans
        return outcome

    return run


def test_options_that_are_not_given_have_the_defaults_of_the_plan(count):
    assert count("field").plans == [Plan("field", (1, 2), (), None, False, 0)]


def test_options_are_parsed_into_the_fields_of_the_plan(count):
    outcome = count("field", "--sizes", "3, 4", "-k", "a", "--kind", "b", "--limit", "5", "--fast", "--seed", "9")
    assert outcome.plans == [Plan("field", (3, 4), ("a", "b"), 5, True, 9)]


def test_the_help_is_the_docstring_and_shows_the_defaults(count):
    text = " ".join(count("--help").output.split())
    for expected in ("Count sheep.", "Example: count field", "PLACE", "--sizes", "[default: 1,2]", "[x>=1]"):
        assert expected in text


def test_rows_are_shown_as_tables_or_as_json_lines(count):
    assert count("field", "--json").stdout == '{"size": 1}\n{"size": 2}\n'
    words = count("field").stdout.split()
    assert words[:3] == ["in", "field", "Sheep"]
    assert words[-2:] == ["1", "2"]


def test_a_row_with_a_problem_is_an_error_after_all_rows(count):
    outcome = count("field", "--sizes", "13,2", "--json")
    assert outcome.stdout == '{"size": 13}\n{"size": 2}\n'
    assert isinstance(outcome.exception, CbnetError)
    assert str(outcome.exception) == "wrong answers: 13 sheep"


@pytest.mark.parametrize(("option", "value"), [("--sizes", "many"), ("--seed", "-1")])
def test_a_wrong_value_names_its_option(count, option, value):
    outcome = count("field", option, value)
    assert isinstance(outcome.exception, InputError)
    assert str(outcome.exception).startswith(option)
    assert outcome.plans == ()
