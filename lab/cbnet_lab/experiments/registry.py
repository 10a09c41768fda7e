"""The registry of experiments, in the order of `experiments.toml`; each is imported on first use.

The experiment "2002-figure-7a" is the `EXPERIMENT` of the module `y2002.figure_7a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from cbnet.errors import InputError
from cbnet_lab.experiments.experiment import Experiment, declarations

EXPERIMENTS = tuple(name for name in declarations() if name != "shared")


def load_experiment(name: str) -> Experiment:
    """Return the experiment of a name in `EXPERIMENTS`."""
    year, _, stem = name.partition("-")
    experiment: Experiment = import_module(f"cbnet_lab.experiments.y{year}.{stem.replace('-', '_')}").EXPERIMENT
    return experiment


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names or prefixes, such as "2014"; all without any."""
    chosen = {name: [each for each in EXPERIMENTS if each == name or each.startswith(f"{name}-")] for name in names}
    for name, found in chosen.items():
        if not found:
            raise InputError(f"no experiment {name!r}", hint="see `cbnet lab reproduce --list`")
    every = {each for found in chosen.values() for each in found}
    return [load_experiment(each) for each in EXPERIMENTS if each in every or not names]
