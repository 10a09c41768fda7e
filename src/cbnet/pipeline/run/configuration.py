"""The configuration of a run: one TOML file, as `cbnet pipeline init` writes it.

Missing sections are not run, or have the values of [2014 §4.2]. Paths are relative to the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from cbnet.errors import InputError
from cbnet.pipeline.derive.cleaning import Cleaning
from cbnet.pipeline.derive.topics import TopicModel
from cbnet.pipeline.ingest.source import Source
from cbnet.pipeline.population import user_election
from cbnet.pipeline.spark.filesystem import scheme_of
from cbnet.pipeline.tables.router_interfaces import MASK_TREES, MAX_TREES
from cbnet.toml_files import TomlDocument
from cbnet.topology.generators import GENERATORS

Name = str | int
_MAX_RANGES = 1_000  # of each tree: every range is a file or more
Kind = Literal["web", "blog", "video", "social"]
# Formats of the sources of an application.
_FORMATS: dict[str, tuple[str, ...]] = {
    "web": ("tagged",), "blog": ("posts", "wordcounts"), "video": ("tagged",), "social": ("tagged", "tweets"),
}  # fmt: skip


class NetworkConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The graph, its users, and the routers whose tables are built."""

    graph: str = "aslike:300"
    largest: bool = False  # component only
    users: str = ""  # a file of users per node; default: by class and degree
    root: Name | None = None  # of the first tree; default: drawn by class
    trees: int = 1  # of the live network and its tables; Table 1 is that of the first
    routers: int | tuple[Name, ...] = 1  # the number of most central ones, or names

    def check(self) -> None:
        """Check the range."""
        if not 1 <= self.trees <= MASK_TREES:
            raise InputError(f"trees must be from 1 to {MASK_TREES}")


class PopulationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The number of users, in clusters of 1000."""

    clusters: int = 2_500

    def check(self) -> None:
        """Check the range."""
        if self.clusters < 0:
            raise InputError(f"clusters = {self.clusters}: must be 0 or more")


class ApplicationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The users of an application and their descriptors."""

    kind: Kind
    share: float  # of clusters
    descriptors: float  # per cluster that uses it, on average
    users: int  # to elect from: each cluster has the descriptors of one of them
    read: tuple[str, ...] = ()  # names of sources that the model is fitted to; none: that of the kind
    authors: str = ""  # blog: a source of authors and articles
    followers: str = ""  # social: a source of followers and authors

    def check(self) -> None:
        """Check the range."""
        if not 0 <= self.share <= 1 or self.descriptors < 0 or self.users < 1:
            raise InputError("share must be from 0 to 1, descriptors 0 or more, users 1 or more")
        for key, kind in (("authors", "blog"), ("followers", "social")):
            if getattr(self, key) and (self.kind != kind or not self.read):
                raise InputError(f"{key}: only an application of kind {kind!r} that reads a source can have this key")
        if self.authors and len(self.read) > 1:
            raise InputError("authors: the application reads several sources", hint="use one application per source")

    @property
    def role(self) -> str:
        """The role of its descriptors: subscription or offer."""
        return next(app.role for app in user_election.APPLICATIONS if app.name == self.kind)

    def application(self, name: str) -> user_election.Application:
        """Return the application of the population."""
        return user_election.Application(name, self.role, self.share, self.descriptors, self.users)


class FitConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One law of tags for several sources, compared with sources that it is not fitted to."""

    read: tuple[str, ...]  # names of sources
    held_out: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that there is a source."""
        if not self.read:
            raise InputError("read: name at least one source")


class AllRoutersConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of Table 1 for every router of the tree."""

    distinct: bool = False  # also count the distinct descriptors before reduction


class FoldedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Tables folded over k trees, of the same routers."""

    k: tuple[int, ...] = (1, 8, 16)

    def check(self) -> None:
        """Check the range."""
        if not self.k or not all(1 <= k <= MAX_TREES for k in self.k):
            raise InputError(f"k must be a list of numbers from 1 to {MAX_TREES}")


class RouterTablesConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of every router on every tree."""

    ranges: int = 16  # of the routers of a tree, in files of their own

    def check(self) -> None:
        """Check the range."""
        if not 1 <= self.ranges <= _MAX_RANGES:
            raise InputError(f"ranges must be from 1 to {_MAX_RANGES:,}")


class TablesConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Compiled tables of the routers, one file each."""

    engine: Literal["tags", "bloom", "pivot", "counting"] = "tags"


class LiveConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a live network."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the pipeline."""

    out: str  # folder of the results
    seed: int = 0  # of everything random
    network: NetworkConfig = NetworkConfig()
    population: PopulationConfig = PopulationConfig()
    sources: dict[str, Source] = {}
    cleaning: Cleaning = Cleaning()
    topics: TopicModel = TopicModel()
    applications: dict[str, ApplicationConfig] = {}
    fit: FitConfig | None = None
    all_routers: AllRoutersConfig | None = None
    folded: FoldedConfig | None = None
    router_tables: RouterTablesConfig | None = None
    tables: TablesConfig | None = None
    live: LiveConfig | None = None

    @property
    def has_traces(self) -> bool:
        """Whether any application reads a trace."""
        return any(app.read for app in self.applications.values())


_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "network": NetworkConfig,
    "population": PopulationConfig,
    "cleaning": Cleaning,
    "topics": TopicModel,
    "fit": FitConfig,
    "all_routers": AllRoutersConfig,
    "folded": FoldedConfig,
    "router_tables": RouterTablesConfig,
    "tables": TablesConfig,
    "live": LiveConfig,
}
_PAPERS = {app.name: app for app in user_election.APPLICATIONS}


class _Top(msgspec.Struct, frozen=True, kw_only=True):
    out: str = "run"
    seed: int = 0


def paper_applications() -> dict[str, ApplicationConfig]:
    """Return the applications of [2014 §4.2.2], without traces."""
    return {name: msgspec.convert(_defaults(name), ApplicationConfig) for name in _PAPERS}


def read_config(path: Path, *, out: str | None = None) -> Config:
    """Read a configuration; report all its mistakes in one error. `out` overrides that of the file."""
    document = TomlDocument(path)
    top = document.section(_Top, (), document.tables, other_keys=[*_SECTIONS, "sources", "applications"])
    members: dict[str, Any] = {
        name: document.section(kind, (name,)) for name, kind in _SECTIONS.items() if name in document.tables
    }
    members["sources"] = _sources(document)
    members["applications"] = _applications(document, members["sources"])
    fit = members.get("fit")
    for key, names in (("read", fit.read), ("held_out", fit.held_out)) if fit else ():
        for name in names:
            _check_source(document, ("fit", key), name, members["sources"], ("tagged", "tweets"))
    document.finish()
    assert top is not None, "finish() raises an error otherwise"
    config = Config(out=out or _absolute(top.out, path), seed=top.seed, **members)
    return _with_absolute_paths(config, path)


def _sources(document: TomlDocument) -> dict[str, Source | None]:
    sections = document.at(("sources",))
    if not isinstance(sections, Mapping):
        document.note(("sources",), "sources must be sections", "write [sources.NAME]")
        return {}
    return {name: _source(document, name, section) for name, section in sections.items()}


def _source(document: TomlDocument, name: str, section: Any) -> Source | None:
    at = ("sources", name)
    if not isinstance(section, Mapping):
        document.note(at, "this must be a section", f"write [{'.'.join(at)}]")
        return None
    known = [*(field.name for field in msgspec.structs.fields(Source)), "preset"]
    wrong = [key for key in section if key not in known]
    for key in wrong:
        document.note_unknown((*at, key), known)
    source: Source | None = None if wrong else document.build(at, lambda: Source.of(section))
    return source


def _applications(document: TomlDocument, sources: Mapping[str, Source | None]) -> dict[str, ApplicationConfig | None]:
    sections = document.at(("applications",))
    if not isinstance(sections, Mapping):
        document.note(("applications",), "applications must be sections", "write [applications.web]")
        return {}
    if not sections:
        sections = {name: {} for name in _PAPERS}
    return {name: _application(document, name, section, sources) for name, section in sections.items()}


def _application(
    document: TomlDocument, name: str, section: Any, sources: Mapping[str, Source | None]
) -> ApplicationConfig | None:
    at = ("applications", name)
    if not isinstance(section, Mapping):
        document.note(at, "this must be a section", f"write [{'.'.join(at)}]")
        return None
    kind = section.get("kind", name)
    if kind not in _PAPERS:
        hint = f"set kind to one of {', '.join(_PAPERS)}"
        document.note((*at, "kind"), f"{kind!r} is not a kind of application", hint)
        return None
    members = {**section, "read": [section["read"]]} if isinstance(section.get("read"), str) else section
    app = document.section(ApplicationConfig, at, {**_defaults(kind), **members})
    if app is not None:
        for key, names, formats in (
            ("read", app.read, _FORMATS[app.kind]),
            ("authors", [app.authors] if app.authors else [], ("pairs",)),
            ("followers", [app.followers] if app.followers else [], ("follows",)),
        ):
            for source in names:
                _check_source(document, (*at, key), source, sources, formats)
    return app


def _defaults(kind: str) -> dict[str, Any]:
    paper = _PAPERS[kind]
    return {"kind": kind, "share": paper.share, "descriptors": paper.descriptors, "users": paper.users}


def _check_source(
    document: TomlDocument,
    at: tuple[str, ...],
    name: str,
    sources: Mapping[str, Source | None],
    formats: tuple[str, ...],
) -> None:
    if name not in sources:
        document.note(at, f"no source {name!r}", f"add a section [sources.{name}]")
        return
    source = sources[name]
    if source is not None and source.format not in formats:
        hint = f"use a source of format {' or '.join(formats)}"
        document.note(at, f"source {name!r} has the format {source.format!r}", hint)


def _with_absolute_paths(config: Config, path: Path) -> Config:
    """Return the configuration with absolute paths."""
    network = config.network
    if network.graph.partition(":")[0] not in GENERATORS:
        network = msgspec.structs.replace(network, graph=_absolute(network.graph, path))
    if network.users:
        network = msgspec.structs.replace(network, users=_absolute(network.users, path))
    sources = {name: _source_with_absolute_paths(source, path) for name, source in config.sources.items()}
    return msgspec.structs.replace(config, network=network, sources=sources)


def _source_with_absolute_paths(source: Source, path: Path) -> Source:
    return msgspec.structs.replace(
        source,
        path=tuple(_absolute(each, path) for each in source.paths),
        vocabulary=_absolute(source.vocabulary, path) if source.vocabulary else "",
    )


def _absolute(name: str, config: Path) -> str:
    """Resolve a path against the folder of the configuration."""
    return os.path.abspath(config.parent / Path(name).expanduser()) if scheme_of(name) is None else name  # noqa: PTH100
