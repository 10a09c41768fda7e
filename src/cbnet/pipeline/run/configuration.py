"""Configuration: of what does a run of the pipeline consist?

One TOML file; `cbnet pipeline init` writes one with comments. Sections that are not there are not run, or have the
values of [2014 §4.2]. Paths begin at the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from cbnet.errors import InputError
from cbnet.files import TomlDocument
from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.topics import TopicModel
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.population import population
from cbnet.pipeline.run.tree_curves import KS
from cbnet.pipeline.spark.results import is_local
from cbnet.pipeline.tables.router_interfaces import MAX_TREES
from cbnet.topology.graph.generators import GENERATORS
from cbnet.topology.trees.ties import Ties

Name = str | int
Kind = Literal["web", "blog", "video", "social"]
# The formats that an application reads.
_FORMATS: dict[str, tuple[str, ...]] = {
    "web": ("tagged",), "blog": ("posts", "wordcounts"), "video": ("tagged",), "social": ("tagged", "tweets"),
}  # fmt: skip


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Where users live, and which tables are built."""

    graph: str = "aslike:300"
    largest: bool = False  # component
    users: str = ""  # a file of users per node; else they are spread by class and degree
    root: Name | None = None  # of the tree; None: drawn by class
    routers: int | tuple[Name, ...] = 1  # so many of the most central ones of the tree, or these


class People(msgspec.Struct, frozen=True, kw_only=True):
    """How many users there are: clusters of 1000."""

    clusters: int = 2_500

    def check(self) -> None:
        """Check the range."""
        if self.clusters < 0:
            raise InputError(f"clusters = {self.clusters}: give 0 or more")


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """Who uses an application, and what its users say."""

    kind: Kind
    share: float  # of clusters
    descriptors: float  # of a cluster that uses it, on average
    sets: int | Literal["trace"]  # to draw from, made by a model of the trace; or the trace's own
    read: tuple[str, ...] = ()  # names of sources; none: a trace is made up
    authors: str = ""  # blog: who wrote which article
    followers: str = ""  # social: who follows whom

    def check(self) -> None:
        """Check the ranges."""
        if not 0 <= self.share <= 1 or self.descriptors < 0 or (self.sets != "trace" and self.sets < 1):
            raise InputError("share is from 0 to 1, descriptors 0 or more, sets 1 or more")
        for key, kind in (("authors", "blog"), ("followers", "social")):
            if getattr(self, key) and (self.kind != kind or not self.read):
                raise InputError(f"{key} belong to an application of the kind {kind!r} that reads a source")
        if self.authors and len(self.read) > 1:
            raise InputError("authors are those of one source", hint="read one, or give each an application of its own")

    @property
    def role(self) -> str:
        """What its users' descriptors are for."""
        return next(app.role for app in population.APPLICATIONS if app.name == self.kind)

    def elected(self, name: str) -> population.Application:
        """Return it as the population knows it."""
        sets = None if self.sets == "trace" else self.sets
        return population.Application(name, self.role, self.share, self.descriptors, sets)


class AllRouters(msgspec.Struct, frozen=True, kw_only=True):
    """Table 1 of every router of the tree, as counts."""

    distinct: bool = False  # also how many descriptors are different, before any is dropped


class Folded(msgspec.Struct, frozen=True, kw_only=True):
    """Tables folded over k trees, of the same routers."""

    k: tuple[int, ...] = (1, 8, 16)

    def check(self) -> None:
        """Check the numbers of trees."""
        if not self.k or not all(1 <= k <= MAX_TREES for k in self.k):
            raise InputError(f"k lists numbers of trees from 1 to {MAX_TREES}")


class Curves(msgspec.Struct, frozen=True, kw_only=True):
    """What k trees cost: [2014 Figures 4 and 5]."""

    k: tuple[int, ...] = KS
    selections: int = 20
    sources: int = 200
    ties: tuple[Ties, ...] = (Ties.SMALLEST,)

    def check(self) -> None:
        """Check the numbers."""
        if not self.k or min(self.k) < 1 or self.selections < 1 or self.sources < 1 or not self.ties:
            raise InputError("k, selections and sources are 1 or more, and there is a rule of ties")


class Tables(msgspec.Struct, frozen=True, kw_only=True):
    """Compiled tables of the routers, each a file."""

    engine: Literal["tags", "bloom", "pivot", "counting"] = "tags"


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that a live network can start from."""

    trees: int = 1

    def check(self) -> None:
        """Check the number of trees."""
        if not 1 <= self.trees <= MAX_TREES:
            raise InputError(f"trees is a number from 1 to {MAX_TREES}")


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the pipeline."""

    out: str  # the folder of its results
    seed: int = 0  # of everything that is random
    network: Network = Network()
    population: People = People()
    sources: dict[str, Source] = {}
    cleaning: Cleaning = Cleaning()
    topics: TopicModel = TopicModel()
    applications: dict[str, Application] = {}
    all_routers: AllRouters | None = None
    folded: Folded | None = None
    curves: Curves | None = None
    tables: Tables | None = None
    live: Live | None = None

    @property
    def has_traces(self) -> bool:
        """Whether any application reads a trace."""
        return any(app.read for app in self.applications.values())


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "network": Network, "population": People, "cleaning": Cleaning, "topics": TopicModel, "all_routers": AllRouters,
    "folded": Folded, "curves": Curves, "tables": Tables, "live": Live,
}  # fmt: skip
_PAPERS = {app.name: app for app in population.APPLICATIONS}


class _Top(msgspec.Struct, frozen=True, kw_only=True):
    out: str = "run"
    seed: int = 0


def papers_applications() -> dict[str, Application]:
    """Return the applications of [2014 §4.2.2], without traces."""
    return {name: msgspec.convert(_usual(name), Application) for name in _PAPERS}


def read_config(path: Path, *, out: str | None = None) -> Config:
    """Return what a file says; all its mistakes are one error. `out` is used instead of the file's."""
    document = TomlDocument(path)
    top = document.section(_Top, (), document.tables, other_keys=[*_SECTIONS, "sources", "applications"])
    members: dict[str, Any] = {
        name: document.section(kind, (name,)) for name, kind in _SECTIONS.items() if name in document.tables
    }
    members["sources"] = _sources(document)
    members["applications"] = _applications(document, members["sources"])
    document.finish()
    assert top is not None, "else there were mistakes"
    config = Config(out=out or _placed(top.out, path), seed=top.seed, **members)
    return _with_places(config, path, document)


def _sources(document: TomlDocument) -> dict[str, Source | None]:
    given = document.at(("sources",))
    if not isinstance(given, Mapping):
        document.note(("sources",), "this must hold sections", "write [sources.NAME]")
        return {}
    return {name: _source(document, name, section) for name, section in given.items()}


def _source(document: TomlDocument, name: str, section: Any) -> Source | None:
    at = ("sources", name)
    if not isinstance(section, Mapping):
        document.note(at, "this must be a section", f"begin it with a line [{'.'.join(at)}]")
        return None
    known = [*(field.name for field in msgspec.structs.fields(Source)), "preset"]
    wrong = [key for key in section if key not in known]
    for key in wrong:
        document.note_unknown((*at, key), known)
    made: Source | None = None if wrong else document.build(at, lambda: Source.of(section))
    return made


def _applications(document: TomlDocument, sources: Mapping[str, Source | None]) -> dict[str, Application | None]:
    given = document.at(("applications",))
    if not isinstance(given, Mapping):
        document.note(("applications",), "this must hold sections", "write [applications.web]")
        return {}
    if not given:
        given = {name: {} for name in _PAPERS}
    return {name: _application(document, name, section, sources) for name, section in given.items()}


def _application(
    document: TomlDocument, name: str, section: Any, sources: Mapping[str, Source | None]
) -> Application | None:
    at = ("applications", name)
    if not isinstance(section, Mapping):
        document.note(at, "this must be a section", f"begin it with a line [{'.'.join(at)}]")
        return None
    kind = section.get("kind", name)
    if kind not in _PAPERS:
        hint = f"write one of {', '.join(_PAPERS)}"
        document.note((*at, "kind"), f"{kind!r} is no kind of application", f"{hint} as its kind, or as its name")
        return None
    said = {**section, "read": [section["read"]]} if isinstance(section.get("read"), str) else section
    app = document.section(Application, at, {**_usual(kind), **said})
    if app is not None:
        for key, names, formats in (
            ("read", app.read, _FORMATS[app.kind]),
            ("authors", [app.authors] if app.authors else [], ("pairs",)),
            ("followers", [app.followers] if app.followers else [], ("follows",)),
        ):
            for source in names:
                _check_source(document, (*at, key), source, sources, formats)
    return app


def _usual(kind: str) -> dict[str, Any]:
    paper = _PAPERS[kind]
    return {"kind": kind, "share": paper.share, "descriptors": paper.descriptors, "sets": paper.sets or "trace"}


def _check_source(
    document: TomlDocument,
    at: tuple[str, ...],
    name: str,
    sources: Mapping[str, Source | None],
    formats: tuple[str, ...],
) -> None:
    if name not in sources:
        document.note(at, f"there is no source {name!r}", f"write a section [sources.{name}]")
        return
    source = sources[name]
    if source is not None and source.format not in formats:
        wanted = " or ".join(formats)
        document.note(at, f"source {name!r} has the format {source.format!r}", f"this reads {wanted}")


def _with_places(config: Config, path: Path, document: TomlDocument) -> Config:
    """Return a configuration with whole paths, after checking what needs this machine's files."""
    network = config.network
    if network.graph.partition(":")[0] not in GENERATORS:
        network = msgspec.structs.replace(network, graph=_placed(network.graph, path))
    if network.users:
        network = msgspec.structs.replace(network, users=_placed(network.users, path))
    for section in ("tables", "live"):
        if getattr(config, section) is not None and not is_local(config.out):
            document.note((section,), "its files are written by the driver alone", "give an `out` on this machine")
    document.finish()
    sources = {name: _source_with_places(source, path) for name, source in config.sources.items()}
    return msgspec.structs.replace(config, network=network, sources=sources)


def _source_with_places(source: Source, path: Path) -> Source:
    return msgspec.structs.replace(
        source,
        path=tuple(_placed(each, path) for each in source.paths),
        vocabulary=_placed(source.vocabulary, path) if source.vocabulary else "",
    )


def _placed(name: str, config: Path) -> str:
    """Return a path that begins at the folder of the configuration."""
    return os.path.abspath(config.parent / Path(name).expanduser()) if is_local(name) else name  # noqa: PTH100
