"""The registry of experiments, in the order of `experiments.toml`; each is imported on first use.

The experiment "2002-figure-7a" is the `EXPERIMENT` of the module `y2002.figure_7a`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from cbnet.errors import InputError
from cbnet_lab.experiments.experiment import Experiment, declarations


class Experiments(Mapping[str, Experiment]):
    """Experiments by name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._names:
            raise KeyError(name)
        experiment: Experiment = import_module(f"cbnet_lab.experiments.{_module(name)}").EXPERIMENT
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


EXPERIMENTS = Experiments([name for name in declarations() if name != "shared"])


def select_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments with these names or prefixes, such as "2014"; all without any."""
    for name in names:
        if not any(_matches(experiment, name) for experiment in EXPERIMENTS):
            raise InputError(f"no experiment {name!r}", hint="see `cbnet lab reproduce --list`")
    return [EXPERIMENTS[each] for each in EXPERIMENTS if not names or any(_matches(each, name) for name in names)]


def _matches(experiment: str, name: str) -> bool:
    return experiment == name or experiment.startswith(f"{name}-")


def _module(name: str) -> str:
    year, _, stem = name.partition("-")
    return f"y{year}.{stem.replace('-', '_')}"
