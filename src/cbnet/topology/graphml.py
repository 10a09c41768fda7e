"""Reader of GraphML.

It reads `node` (by its id), `edge`, and the edges' data of the key named "weight"; an edge without
it has the default of that key, or length 1. Directed edges become undirected. Colours, labels and all other
data are ignored. Hyperedges are a mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from cbnet.errors import InputError
from cbnet.topology.edges import EdgeSet


@dataclass
class _Element:
    kind: str  # its tag, without a prefix
    attributes: dict[str, str]
    line: int
    text: str = ""
    parts: list[_Element] = field(default_factory=list)

    def all(self, kind: str) -> Iterator[_Element]:
        """Yield the elements with that tag inside this one, at any depth."""
        stack = self.parts[::-1]
        while stack:
            element = stack.pop()
            stack.extend(reversed(element.parts))
            if element.kind == kind:
                yield element

    def attribute(self, name: str) -> str:
        """Return the value of a required attribute."""
        if not self.attributes.get(name):
            raise InputError(f"the {self.kind} has no {name}", hint=f'write <{self.kind} {name}="…">')
        return self.attributes[name]


def read_graphml(text: str, edges: EdgeSet) -> None:
    """Add the nodes and edges of a GraphML text."""
    try:
        document = _parsed(text)
    except expat.ExpatError as error:
        edges.mistake(InputError(f"not XML: {expat.ErrorString(error.code)}", column=error.offset + 1), error.lineno)
        return
    keys = [key for key in document.all("key") if key.attributes.get("for") in ("edge", "all")]
    weights = {key.attributes.get("id", ""): key for key in keys if key.attributes.get("attr.name") == "weight"}
    for kind, read in (("node", _read_node), ("edge", _read_edge), ("hyperedge", _read_hyperedge)):
        for element in document.all(kind):
            try:
                read(element, weights, edges)
            except InputError as error:
                edges.mistake(error, element.line)


def _read_node(node: _Element, _weights: dict[str, _Element], edges: EdgeSet) -> None:
    edges.node(node.attribute("id"))


def _read_edge(edge: _Element, weights: dict[str, _Element], edges: EdgeSet) -> None:
    ends = edge.attribute("source"), edge.attribute("target")
    for end in ends:
        if not edges.has_node(end):
            raise InputError(f"there is no node {end!r}", hint="add it, or remove the edge")
    values = [data.text for data in edge.all("data") if data.attributes.get("key") in weights]
    defaults = [default.text for key in weights.values() for default in key.all("default")]
    edges.add(*ends, next(iter([*values, *defaults]), "1").strip(), line=edge.line)


def _read_hyperedge(_hyperedge: _Element, _weights: dict[str, _Element], _edges: EdgeSet) -> None:
    raise InputError("a hyperedge joins more than two nodes", hint="write an edge for each pair")


def _parsed(text: str) -> _Element:
    """Return the root of the document, inside an element of its own."""
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True
    stack = [_Element("document", {}, 1)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        stack[-1].parts.append(element)
        stack.append(element)

    def characters(text: str) -> None:
        stack[-1].text += text

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.CharacterDataHandler = characters
    parser.Parse(text.encode(), True)
    return stack[0]
