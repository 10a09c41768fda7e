"""Ratios and spreads of two checkouts, computed by hand."""

import pytest

from cbnet.errors import CbnetError, InputError
from cbnet_lab.bench import checkouts
from cbnet_lab.bench.checkouts import figures
from cbnet_lab.bench.plans import ComparePlan


def runs(*times, version="0.3", **more):
    """Return runs with one row each."""
    return [[{"case": "tls", "version": version, "filters": 1, "us": us, "equal": True, **more}] for us in times]


def test_the_ratio_is_that_of_the_medians_and_the_spread_that_of_each_checkout_against_itself():
    (found,) = figures(runs(2.0, 3.0, 4.0), runs(1.0, 2.0, 1.5))
    assert (found.figure, found.this, found.other) == ("us", 3.0, 1.5)
    assert (found.ratio, found.spread_this, found.spread_other) == (2.0, 2.0, 2.0)
    assert found.is_within


@pytest.mark.parametrize(("other", "is_within"), [((1.0, 1.1), True), ((1.2, 1.25), False), ((0.7, 0.75), False)])
def test_a_ratio_beyond_the_spread_of_both_is_outside(other, is_within):
    (found,) = figures(runs(1.0, 1.1), runs(*other))
    assert found.is_within == is_within


def test_a_row_is_named_by_what_is_the_same_in_all_runs_and_differs_between_rows():
    this = [
        [{"case": "tls", "version": "0.3", "filters": count, "us": 1.0 + run} for count in (1, 9)] for run in (0, 1)
    ]
    other = [[{**row, "version": "0.2"} for row in rows] for rows in this]
    assert [found.row for found in figures(this, other)] == ["filters 1", "filters 9"]


def test_lists_flags_and_figures_that_are_not_chosen_are_left_out():
    this, other = runs(1.0, 2.0, cpu=[1]), runs(1.0, 3.0, cpu=[2])
    assert [found.figure for found in figures(this, other)] == ["us"]
    assert list(figures(this, other, ["ms"])) == []


def test_runs_with_different_rows_are_an_error():
    with pytest.raises(CbnetError, match="different numbers of rows"):
        list(figures(runs(1.0), [[]]))


def test_both_checkouts_run_in_turn(monkeypatch, tmp_path):
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    asked = []
    monkeypatch.setattr(checkouts, "sys", type("sys", (), {"executable": "here"}))
    monkeypatch.setattr(checkouts, "_rows", lambda own, command: asked.append((own, command)) or [{"us": len(asked)}])
    plan = ComparePlan(str(tmp_path), ("router", "--rounds", "1"), 2)
    (found,) = checkouts.run(plan, lambda _: None)
    assert [own for own, _ in asked] == ["here", str(python)] * 2
    assert {command for _, command in asked} == {plan.command}
    assert (found.this, found.other) == (2.0, 3.0)  # runs 1 and 3, runs 2 and 4


def test_a_checkout_without_an_interpreter_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no Python interpreter"):
        next(checkouts.run(ComparePlan(str(tmp_path), ("router",)), lambda _: None))
