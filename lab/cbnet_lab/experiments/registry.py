"""The registry of experiments, in the order of the papers; each is imported on first use.

The experiment "2002-figure-7a" is the `EXPERIMENT` of the module `y2002.figure_7a`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

from cbnet.errors import InputError
from cbnet_lab.experiments.experiment import AnyExperiment

NAMES: tuple[str, ...] = (
    "2001-examples", "2001-figures-9-12", "2001-figures-10-11", "2001-summary", "2001-index-order",
    "2002-examples", "2002-introduction", "2002-memory", "2002-selectivity", "2002-index", "2002-figure-7a",
    "2002-figure-7b", "2002-figure-8", "2002-figure-9", "2002-network", "2003-updates",
    "2006-examples", "2006-laws", "2006-distances", "2006-classes", "2006-memory", "2006-figure-5", "2006-figures-6-7",
    "2014-examples", "2014-link-load", "2014-folding", "2014-figure-4", "2014-figure-5", "2014-traces", "2014-table-1",
    "2014-bloom",
)  # fmt: skip


class Experiments(Mapping[str, AnyExperiment]):
    """Experiments by name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> AnyExperiment:
        if name not in self._names:
            raise KeyError(name)
        experiment: AnyExperiment = import_module(f"cbnet_lab.experiments.{_module(name)}").EXPERIMENT
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


EXPERIMENTS = Experiments(NAMES)


def select_experiments(names: Sequence[str]) -> list[AnyExperiment]:
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
