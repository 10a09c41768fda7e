"""Regular expressions that are searched for in time proportional to the text [Thompson 1968].

The syntax tree becomes a program of at most `MAX_STEPS` steps. A search follows all its ways at once: at each place of
the text it keeps the set of steps that can be reached, so it takes at most that many operations per character, whatever
the pattern. Only whether the pattern occurs is asked: no groups, no preference among matches.

    a(b|c)*     0 RANGE a a   1 SPLIT 2 7   2 SPLIT 3 5   3 RANGE b b   4 JUMP 6   5 RANGE c c   6 JUMP 1   7 MATCH

`search` is the plain twin of the kernel `regex_search`, which runs the same program: it specifies the answers, and only
tests call it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from cbnet.errors import ValueDomainError
from cbnet.language.constraint import Op
from cbnet.language.regex_syntax import (
    Assertion,
    Chars,
    Choice,
    Node,
    Place,
    Ranges,
    Repetition,
    Sequence,
    read_regex,
)

MAX_STEPS = 512  # `regex_search` has memory for as many
RANGE, CLASS, SPLIT, JUMP, ASSERT, MATCH = range(1, 7)
_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, slots=True)
class Program:
    """The steps of a pattern (operation and two numbers) and the ranges of its classes."""

    steps: tuple[tuple[int, int, int], ...]
    ranges: Ranges
    at_start: bool  # it can only match at the start of the text

    def to_bytes(self) -> bytes:
        """Return the program as little-endian uint32 numbers: three counts, the steps, the ranges."""
        numbers = [len(self.steps), len(self.ranges), self.at_start]
        numbers += [number for step in self.steps for number in step]
        numbers += [number for pair in self.ranges for number in pair]
        return struct.pack(f"<{len(numbers)}I", *numbers)


def validate_regex(pattern: str) -> str:
    """Return a pattern; raise an error if it is not valid, or too large."""
    compiled(pattern)
    return pattern


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> bytes:
    """Return the program of a pattern, for the kernel: at most 6 kB and its ranges, a fifteenth of the `Program`."""
    return program_of(pattern).to_bytes()


@lru_cache(maxsize=16)
def program_of(pattern: str) -> Program:
    """Return the program of a pattern."""
    node = read_regex(pattern)
    if _size(node) >= MAX_STEPS:
        problem = f"a regular expression of more than {MAX_STEPS:,} steps, with its repetitions written out"
        raise ValueDomainError(problem, hint="repeat less, or write several tests")
    return _Compiler().program(node)


# --- programs --------------------------------------------------------------------------------


def _size(node: Node) -> int:
    """Return the number of steps of a node."""
    if isinstance(node, Sequence):
        return sum(map(_size, node.parts))
    if isinstance(node, Choice):
        return sum(map(_size, node.parts)) + 2 * (len(node.parts) - 1)
    if isinstance(node, Repetition):
        inner = _size(node.part)
        if node.most is None:
            return inner * max(node.least, 1) + (1 if node.least else 2)
        return inner * node.most + (node.most - node.least)
    return 1


class _Compiler:
    def __init__(self) -> None:
        self._steps: list[tuple[int, int, int]] = []
        self._ranges: list[tuple[int, int]] = []

    def program(self, node: Node) -> Program:
        self._add(node)
        self._steps.append((MATCH, 0, 0))
        return Program(tuple(self._steps), tuple(self._ranges), _at_start(node))

    def _add(self, node: Node) -> None:
        steps = self._steps
        if isinstance(node, Chars):
            if len(node.ranges) == 1:
                steps.append((RANGE, *node.ranges[0]))
            else:
                steps.append((CLASS, len(self._ranges), len(node.ranges)))
                self._ranges += node.ranges
        elif isinstance(node, Assertion):
            steps.append((ASSERT, node.place, 0))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self._add(part)
        elif isinstance(node, Choice):
            self._choose(node)
        elif _size(node.part):
            self._repeat(node)

    def _choose(self, node: Choice) -> None:
        jumps = []
        for part in node.parts[:-1]:
            split = self._reserve()
            self._add(part)
            jumps.append(self._reserve())
            self._steps[split] = SPLIT, split + 1, len(self._steps)
        self._add(node.parts[-1])
        for jump in jumps:
            self._steps[jump] = JUMP, len(self._steps), 0

    def _repeat(self, node: Repetition) -> None:
        first = len(self._steps)
        for _ in range(node.least):
            first = len(self._steps)
            self._add(node.part)
        if node.most is None and node.least:
            self._steps.append((SPLIT, first, len(self._steps) + 1))
        elif node.most is None:
            split = self._reserve()
            self._add(node.part)
            self._steps.append((JUMP, split, 0))
            self._steps[split] = SPLIT, split + 1, len(self._steps)
        else:
            splits = []
            for _ in range(node.most - node.least):
                splits.append(self._reserve())
                self._add(node.part)
            for split in splits:
                self._steps[split] = SPLIT, split + 1, len(self._steps)

    def _reserve(self) -> int:
        self._steps.append((JUMP, 0, 0))
        return len(self._steps) - 1


# --- search ----------------------------------------------------------------------------------


def search(text: str, pattern: str) -> bool:
    """Return whether a pattern occurs in a text."""
    program = program_of(pattern)
    reached: list[int] = []
    for at in range(len(text) + 1):
        starts = [0] if at == 0 or not program.at_start else []
        if at:
            code = ord(text[at - 1])
            starts += [step + 1 for step in reached if _accepts(program, step, code)]
        found = _closure(program, starts, text, at)
        if found is None:
            return True
        reached = found
    return False


def _accepts(program: Program, step: int, code: int) -> bool:
    op, first, second = program.steps[step]
    if op == RANGE:
        return first <= code <= second
    return any(low <= code <= high for low, high in program.ranges[first : first + second])


def _closure(program: Program, steps: list[int], text: str, at: int) -> list[int] | None:
    """Return the steps for characters that can be reached without one; None if the pattern has matched."""
    seen, todo, found = set(steps), steps, []
    while todo:
        step = todo.pop()
        op, first, second = program.steps[step]
        if op == MATCH:
            return None
        if op in (RANGE, CLASS):
            found.append(step)
            continue
        if op == ASSERT:
            following = [step + 1] if _holds(Place(first), text, at) else []
        else:
            following = [first, second] if op == SPLIT else [first]
        todo += [each for each in following if each not in seen]
        seen.update(following)
    return found


def _holds(place: Place, text: str, at: int) -> bool:
    before, after = text[at - 1 : at] if at else "", text[at : at + 1]
    if place in (Place.BEGIN_TEXT, Place.BEGIN_LINE):
        return at == 0 or (place is Place.BEGIN_LINE and before == "\n")
    if place in (Place.END_TEXT, Place.END_LINE):
        return at == len(text) or (place is Place.END_LINE and after == "\n")
    return ((before in _WORD) != (after in _WORD)) == (place is Place.WORD_EDGE)


# --- what a pattern implies ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Texts:
    """Texts that every match has: at its start, at its end, inside; `whole` if there is a single match."""

    whole: str | None = None
    prefix: str = ""
    suffix: str = ""
    inside: str = ""  # the longest


def equivalent(pattern: str) -> tuple[Op, str] | None:
    """Return the operator and constant that test exactly what a pattern does, if there are any."""
    node = read_regex(pattern)
    parts = list(node.parts) if isinstance(node, Sequence) else [node]
    starts, ends = parts[:1] == [Assertion(Place.BEGIN_TEXT)], parts[-1:] == [Assertion(Place.END_TEXT)]
    parts = parts[starts : len(parts) - ends]
    codes = [part.ranges[0][0] for part in parts if isinstance(part, Chars) and _is_single(part)]
    if len(codes) < len(parts):
        return None
    op = {(True, True): Op.EQ, (True, False): Op.PREFIX, (False, True): Op.SUFFIX, (False, False): Op.SUBSTRING}
    return op[starts, ends], "".join(map(chr, codes))


def implied(pattern: str) -> list[tuple[Op, str]]:
    """Return tests that every text passes in which a pattern occurs: a prefix, a suffix, the longest substring."""
    node = read_regex(pattern)
    texts = _texts(node)
    tests = [(Op.PREFIX, texts.prefix if _at_start(node) else ""), (Op.SUFFIX, texts.suffix if _at_end(node) else "")]
    known = [text for _, text in tests]
    longest = max((texts.inside, texts.prefix, texts.suffix), key=len)
    tests.append((Op.SUBSTRING, "" if any(longest in text for text in known) else longest))
    return [(op, text) for op, text in tests if text]


def _is_single(node: Chars) -> bool:
    return len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1] and not 0xD800 <= node.ranges[0][0] < 0xE000


def _texts(node: Node) -> _Texts:
    if isinstance(node, Chars):
        return _exactly(chr(node.ranges[0][0])) if _is_single(node) else _Texts()
    if isinstance(node, Assertion):
        return _exactly("")
    if isinstance(node, Sequence):
        found = _exactly("")
        for part in node.parts:
            found = _joined(found, _texts(part))
        return found
    if isinstance(node, Choice):
        first, *others = map(_texts, node.parts)
        for other in others:
            first = _common(first, other)
        return first
    inner = _texts(node.part)
    if node.least == 0:
        return _Texts()
    if inner.whole is not None and node.least == node.most:
        return _exactly(inner.whole * node.least)
    return _Texts(None, inner.prefix, inner.suffix, inner.inside)


def _exactly(text: str) -> _Texts:
    return _Texts(text, text, text, text)


def _joined(left: _Texts, right: _Texts) -> _Texts:
    if left.whole is not None and right.whole is not None:
        return _exactly(left.whole + right.whole)
    return _Texts(
        None,
        left.prefix if left.whole is None else left.whole + right.prefix,
        right.suffix if right.whole is None else left.suffix + right.whole,
        max((left.inside, right.inside, left.suffix + right.prefix), key=len),
    )


def _common(left: _Texts, right: _Texts) -> _Texts:
    if left.whole is not None and left.whole == right.whole:
        return left
    prefix = _common_prefix(left.prefix, right.prefix)
    suffix = _common_prefix(left.suffix[::-1], right.suffix[::-1])[::-1]
    return _Texts(None, prefix, suffix, max((prefix, suffix), key=len))


def _common_prefix(left: str, right: str) -> str:
    count = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return left[:count]


def _at_start(node: Node) -> bool:
    """Return whether a match is possible only at the start of a text; False if that is not known."""
    return _is_at(node, Place.BEGIN_TEXT, 0)


def _at_end(node: Node) -> bool:
    return _is_at(node, Place.END_TEXT, -1)


def _is_at(node: Node, place: Place, index: int) -> bool:
    if isinstance(node, Sequence):
        return bool(node.parts) and _is_at(node.parts[index], place, index)
    if isinstance(node, Choice):
        return all(_is_at(part, place, index) for part in node.parts)
    if isinstance(node, Repetition):
        return node.least > 0 and _is_at(node.part, place, index)
    return isinstance(node, Assertion) and node.place is place


# --- examples --------------------------------------------------------------------------------


def examples(pattern: str, count: int = 4) -> list[str]:
    """Return a few texts in which a pattern may occur; assertions are not considered."""
    return list(islice(dict.fromkeys(_examples(read_regex(pattern))), count))


def _examples(node: Node) -> Iterator[str]:
    if isinstance(node, Chars):
        codes = (code for pair in node.ranges for code in pair if not 0xD800 <= code < 0xE000)
        letters = (code for code in b"a0 -" if any(first <= code <= last for first, last in node.ranges))
        yield from map(chr, islice((*letters, *codes), 2))
    elif isinstance(node, Assertion):
        yield ""
    elif isinstance(node, Choice):
        for part in node.parts:
            yield from islice(_examples(part), 2)
    elif isinstance(node, Sequence):
        options = [list(islice(_examples(part), 2)) or [""] for part in node.parts]
        yield "".join(texts[0] for texts in options)
        for index, texts in enumerate(options[:8]):
            if len(texts) > 1:
                yield "".join(texts[1] if place == index else each[0] for place, each in enumerate(options))
    else:
        for text in islice(_examples(node.part), 2):
            yield text * max(node.least, 1)
        yield next(_examples(node.part), "") * node.least
