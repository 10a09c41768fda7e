"""Both tag tables, by every path, against the reference."""

import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.damaged_files import flipped_bits

from cbnet import Descriptor, Filter, InputError, Message, Predicate, Table
from cbnet.errors import TableFileError
from cbnet.matching import reference
from cbnet.matching.engines import bloom_table as bloom
from cbnet.matching.engines.registry import ENGINES, TAG_ENGINES, engine
from cbnet.matching.storage.columns import columns_of
from cbnet.matching.storage.table_file import open_table_file, write_table_file
from cbnet_lab.workload.tag_traffic import TagTraffic

KEYS = ("engine", "names", "interfaces", "filters", "constraints", "covered")
every_tag_engine = pytest.mark.parametrize("engine", TAG_ENGINES)

tags = st.sampled_from(["a", "b", "c", "d", "", "é", "a b", "#", "\U0001f600", "\0"])
descriptors = st.frozensets(tags, max_size=5).map(Descriptor)
tables = st.dictionaries(
    st.integers(-5, 5) | st.text("xy", max_size=2), st.lists(descriptors, max_size=5).map(Predicate), max_size=8
)
messages = st.builds(Message, st.just({"x": 1}), st.frozensets(tags | st.text(max_size=2), max_size=8))


def as_batch(messages):
    return pa.RecordBatch.from_arrays([pa.array([sorted(m.tags) for m in messages], pa.list_(pa.string()))], ["#"])


def by_every_path(table, messages, path):
    """Return the answers of each way to match, the table's own and those of the table reopened."""
    table.save(path)
    for found in (table, Table.open(path), Table.open(path, verify=True)):
        yield [found.match(message) for message in messages]
        yield [found.match({"#": [*message.tags, *message.tags]}) for message in messages]  # a tag twice is there once
        yield found.match_many(messages)
        yield found.match_many(list(messages) * 4, threads=3)[len(messages) : 2 * len(messages)]
        yield found.match_frame(as_batch(messages), threads=2).to_pylist()


def as_strings(answers):
    return [[str(interface) for interface in answer] for answer in answers]


@given(rules=tables, found=st.lists(messages, min_size=1, max_size=4), reduce=st.booleans())
def test_the_exact_table_agrees_with_the_reference(tmp_path_factory, rules, found, reduce):
    expected = [reference.match(rules, message) for message in found]
    table = Table.build(rules, engine="tags", reduce=reduce)
    for answers in by_every_path(table, found, tmp_path_factory.getbasetemp() / "tags.cbt"):
        assert as_strings(answers) == as_strings(expected)


@given(rules=tables, found=st.lists(messages, min_size=1, max_size=4), reduce=st.booleans())
def test_the_bloom_table_has_no_false_negatives_and_its_paths_agree(tmp_path_factory, rules, found, reduce):
    table = Table.build(rules, engine="bloom", reduce=reduce)
    first = as_strings(table.match_many(found))
    for answers in by_every_path(table, found, tmp_path_factory.getbasetemp() / "bloom.cbt"):
        assert as_strings(answers) == first
    for answer, message in zip(first, found, strict=True):
        assert set(answer) >= {str(interface) for interface in reference.match(rules, message)}


@every_tag_engine
@given(rules=tables, reduce=st.booleans())
def test_the_filters_are_read_back(engine, rules, reduce):
    table = Table.build(rules, engine=engine, reduce=reduce)
    columns = table._compiled.columns
    found = {interface: set() for interface in rules}
    for row in range(len(columns)):
        found[columns.interfaces[int(columns.targets[row])]].add(columns.filter(row))
    assert found == {interface: set(predicate.filters) for interface, predicate in rules.items()}


# A table of each kind: tags by Zipf's law; few common tags, so that the union of them is long; tags
# that are all alike, so that many descriptors are filed under each and are searched, not read.
WORKLOADS = {
    "zipf": {"tags": 1000},
    "common": {"tags": 50, "zipf": 2.0},
    "alike": {"tags": 60, "zipf": 0.0, "in_message": (2, 9)},
}


@pytest.fixture(scope="module", params=[(kind, own) for kind in WORKLOADS for own in (None, 30)], ids=str)
def workload(request):
    kind, interfaces = request.param
    traffic = TagTraffic(4000, interfaces, messages=150, seed=7, **WORKLOADS[kind])
    filters, batch = traffic.filters(), traffic.message_batch()
    rows = zip(filters["rule"].to_pylist(), filters["filter"].to_pylist(), filters["name"].to_pylist(), strict=True)
    sets, owner = {}, {}
    for interface, filter, tag in rows:
        sets.setdefault(filter, set()).add(tag)
        owner[filter] = interface
    rules = {}
    for filter, found in sets.items():
        rules.setdefault(owner[filter], []).append(Descriptor(found))
    rules = {interface: Predicate(filters) for interface, filters in rules.items()}
    messages = [Message({}, tags) for tags in batch.column(0).to_pylist()]
    return filters, batch, messages, [reference.match(rules, message) for message in messages]


@pytest.mark.parametrize("reduce", [True, False])
def test_large_tables_agree_with_the_reference(workload, reduce, tmp_path):
    filters, batch, messages, expected = workload
    table = Table.from_arrow(filters, engine="tags", reduce=reduce)
    for answers in by_every_path(table, messages, tmp_path / "table.cbt"):
        assert answers == expected
    assert table.match_frame(batch).to_pylist() == expected
    assert sum(map(len, expected)) > 500


def test_the_workloads_cover_every_code_path(workload, request):
    index_of = Table.from_arrow(workload[0], engine="tags", reduce=False)._compiled
    unions = np.diff(index_of.arrays["union_offsets"].astype(int)) - 16
    buckets = np.diff(index_of.arrays["set_buckets"].astype(int))
    kind, interfaces = request.node.callspec.params["workload"]
    assert len(unions) > 1  # the commonest tag, at least, has a union of its own
    if (kind, interfaces) == ("common", None):
        assert unions.max() > 256  # written by merging
    if kind == "alike":
        assert buckets.max() > 16 * 9  # searched


def test_large_bloom_tables_have_no_false_negatives(workload, tmp_path):
    filters, _, messages, expected = workload
    table = Table.from_arrow(filters, engine="bloom")
    first = None
    for answers in by_every_path(table, messages, tmp_path / "table.cbt"):
        first = first or answers
        assert answers == first
    assert all(set(right) <= set(answer) for right, answer in zip(expected, first, strict=True))


def test_counted_descriptors_are_distinct_and_those_of_the_union_count(workload):
    filters, _, messages, _ = workload
    compiled = Table.from_arrow(filters, engine="tags", reduce=False)._compiled
    distinct = {compiled.columns.filter(row) for row in range(len(compiled.columns))}
    counts = compiled.index.count_descriptors(compiled.encode(messages[:20]))
    assert counts.tolist() == [sum(filter.matches(message) for filter in distinct) for message in messages[:20]]


@every_tag_engine
def test_empty_descriptors_match_always_and_interfaces_without_any_never(engine):
    table = Table.build({"all": "true", "none": "false", "both": "#a or true", "a": "#a"}, engine=engine)
    assert table.match({}) == ["all", "both"]
    assert table.match({"#": ["a"]}) == ["all", "both", "a"]
    assert Table.build({}, engine=engine).match({"#": ["a"]}) == []
    assert Table.build({"none": "false"}, engine=engine).match_many([{}, {"#": ["a"]}]) == [[], []]


@every_tag_engine
def test_a_descriptor_may_have_many_tags(engine):
    many = [f"t{i}" for i in range(700)]
    table = Table.build({"all": Descriptor(many), "one": Descriptor(many[:1])}, engine=engine)
    assert table.match({"#": many}) == ["all", "one"]
    if engine == "tags":
        assert table.match({"#": many[:-1]}) == ["one"]
        assert table.match({"#": many[1:]}) == []


@every_tag_engine
def test_a_filter_with_a_constraint_is_refused_by_name(engine):
    rules = {"a": "#x", "milan": "#x or #y and price < 500 and #z"}
    with pytest.raises(InputError, match=r"rule 'milan': the filter `price < 500 and #y and #z` has a constraint"):
        Table.build(rules, engine=engine)
    rows = {"rule": [1, 2], "filter": [0, 1], "name": ["t", "x"], "op": ["#", "exists"]}
    with pytest.raises(InputError, match="rule 2: the filter `exists x`"):
        Table.from_arrow(pa.table(rows), engine=engine)


def test_engines_for_tags_only_are_listed_separately():
    assert (ENGINES, TAG_ENGINES) == (("pivot", "counting"), ("tags", "bloom"))
    assert [engine(name).tags_only for name in (*ENGINES, *TAG_ENGINES)] == [False, False, True, True]
    with pytest.raises(InputError, match="use one of pivot, counting, tags, bloom"):
        engine("magic")


@every_tag_engine
def test_a_wrong_message_is_refused(engine):
    table = Table.build({"a": "#t"}, engine=engine)
    for wrong in ({"#": ["\ud800"]}, {"#": [1]}, {5: 1}):
        with pytest.raises(InputError):
            table.match(wrong)
        with pytest.raises(InputError):
            table.match_many([{}, wrong])
    assert table.match({"#": ("t",), "other": 5}) == ["a"]


def test_explain_and_predicates_work_on_a_tag_table(tmp_path):
    Table.build({"a": "#x and #y or #z", "b": "#z"}, engine="tags").save(tmp_path / "t.cbt")
    table = Table.open(tmp_path / "t.cbt")
    assert {str(filter) for filter in table["a"]} == {"#x and #y", "#z"}
    assert not table.explain({"#": ["x"]}, "a").matched
    assert table.explain({"#": ["x", "z"]}, "a").matched


# --- Damaged files -------------------------------------------------------------------------------


@pytest.fixture(params=TAG_ENGINES)
def damaged(request, tmp_path):
    """A table whose unions are long enough to be merged, as a file."""
    path = tmp_path / "table.cbt"
    Table.from_arrow(TagTraffic(1500, tags=30, zipf=1.5, seed=1).filters(), engine=request.param).save(path)
    return path


MESSAGES = [{"#": [f"t{tag}" for tag in chosen]} for chosen in ([], [0], [0, 1], [0, 1, 2, 3, 9, 12], range(30))]


def _opened(path):
    """Return the arrays of a file, and what its header says of them."""
    file = open_table_file(path)
    return file.arrays, {key: file.metadata[key] for key in KEYS}


def _use_unverified(path):
    try:
        table = Table.open(path)
        table.match_many(MESSAGES)
        table.match_frame(pa.RecordBatch.from_pylist([MESSAGES[3], MESSAGES[4]]))
        table.match(MESSAGES[3])
    except TableFileError as error:
        assert "damaged" in error.problem or "version" in error.problem or "not a compiled" in error.problem


def test_verify_detects_every_flipped_bit_and_none_crashes_without_it(damaged):
    for _ in flipped_bits(damaged, 600):
        with pytest.raises(TableFileError):
            Table.open(damaged, verify=True)
        _use_unverified(damaged)


def test_sections_of_noise_cause_no_read_outside_the_file(damaged):
    arrays, about = _opened(damaged)
    source = random.Random(6)
    for turn in range(300):
        noisy = {name: array.copy() for name, array in arrays.items()}
        for name in source.sample(sorted(noisy), 3 if turn % 2 else 1):
            data = noisy[name].view("u1")
            width = source.choice([1, 4])  # small numbers and large ones
            data[:] = np.frombuffer(source.randbytes(len(data)), "u1") * (np.arange(len(data)) % 4 < width)
        write_table_file(damaged, noisy, about)
        _use_unverified(damaged)


def test_sections_that_are_too_short_are_refused(damaged):
    arrays, about = _opened(damaged)
    exact = ["set_singles", "set_buckets", "set_seconds", "set_rests"]
    of_bloom = ["bloom_words", "bloom_tails", "bloom_leading", "bloom_hashes"]
    for name in ["union_offsets", *(exact if about["engine"] == "tags" else of_bloom)]:
        write_table_file(damaged, {**arrays, name: arrays[name][:-1]}, about)
        with pytest.raises(TableFileError, match="damaged"):
            Table.open(damaged)
    for name in ("set_others", "group_targets", "union_targets"):  # how long they are, only places in them say
        if name in arrays:
            write_table_file(damaged, {**arrays, name: arrays[name][:3]}, about)
            _use_unverified(damaged)


# --- Bloom filters -------------------------------------------------------------------------------


def test_false_positives_are_those_of_a_computation_by_hand():
    assert bloom.false_positive(1, 1) == pytest.approx(1 / 400)  # the missing tag has the one bit that is set
    # two draws set one bit, with a chance of 1/400, or two
    assert bloom.false_positive(1, 2) == pytest.approx(1 / 400 * 1 / 400 + 399 / 400 * 2 / 400)
    # two missing tags of one hash each: both must hit the one bit
    assert bloom.false_positive(1, 1, missing=2) == pytest.approx(1 / 400**2)
    assert bloom.false_positive(5, 0) == 0


def test_the_claim_of_the_paper_holds_up_to_nine_tags():
    # [2014 §4.2.3] claims less than 10^-9; 31 hashes are the best for 9 tags: 400 / 9 · ln 2 = 30.8
    assert bloom.best_hashes([9]) == 31
    assert bloom.best_hashes([]) == 31
    assert bloom.false_positive(31, 9) < 1e-9
    assert min(bloom.false_positive(hashes, 10) for hashes in range(1, 65)) > 1e-9
    # for one of 1,145,713 descriptors, the largest predicate of Table 1, up to five tags
    assert bloom.false_positive(bloom.best_hashes([5]), 5) * 1_145_713 < 1e-9
    assert bloom.false_positive(bloom.best_hashes([6]), 6) * 1_145_713 > 1e-9


def test_the_sample_chooses_the_number_of_hashes():
    rules = {"a": "#a"}
    for count in (5, 20, 60):
        sample = [{"#": [str(tag) for tag in range(count)]}]
        table = Table.build(rules, engine="bloom", sample=sample)
        assert table._compiled.index.hashes == pytest.approx(400 / count * np.log(2), abs=1.01)
    assert Table.build(rules, engine="bloom")._compiled.index.hashes == 31


@pytest.mark.parametrize("count", [20, 40, 80])
def test_measured_false_positives_are_those_predicted(count):
    """A table of single tags, and messages of `count` other ones each: a tag is mistaken if its bits are set.

    With p = false_positive(hashes, count), each of the 30,000 tags is mistaken by each of 50 messages with
    chance p. Of one tag the chances in two messages are not independent: it may have fewer distinct bits than
    most. At worst it is mistaken by all messages or by none, which makes the variance at most 50 n, where
    n = 30,000 · 50 p are expected. The bound is six standard deviations of that. (That one message sets more
    bits than another adds little: with 80 tags, a hundredth of n.)
    """
    known = [f"k{i}" for i in range(30_000)]
    ours = [[f"m{message}.{tag}" for tag in range(count)] for message in range(50)]
    rules = {place: Descriptor([tag]) for place, tag in enumerate([*known, *(tag for tags in ours for tag in tags)])}
    table = Table.build(rules, engine="bloom", sample=[{"#": ours[0]}])
    answers = table.match_many([{"#": tags} for tags in ours])
    first = len(known)
    measured = sum(interface < first for answer in answers for interface in answer)
    for message, answer in enumerate(answers):  # none of the message's own is missed
        assert set(range(first + message * count, first + message * count + count)) <= set(answer)
    predicted = 50 * len(known) * bloom.false_positive(table._compiled.index.hashes, count)
    assert abs(measured - predicted) <= 6 * np.sqrt(50 * predicted) + 1
    if count > 20:
        assert predicted > 10_000  # so that the bound says something: 6 √(50 n) is less than 0.43 n


def test_a_descriptor_takes_fifty_bytes():
    arrays = Table.from_arrow(TagTraffic(1000, seed=2).filters(), engine="bloom")._compiled.arrays
    distinct = len(arrays["bloom_owners"])
    assert arrays["bloom_words"].nbytes + arrays["bloom_tails"].nbytes == 50 * distinct


def test_equal_descriptors_are_stored_once():
    rules = {i: Filter((), ["x", "y"]) for i in range(9)} | {9: Filter((), ["x"])}
    for name, owners in (("tags", "set_owners"), ("bloom", "bloom_owners")):
        arrays = Table.build(rules, engine=name)._compiled.arrays
        assert len(arrays[owners]) == (1 if name == "tags" else 2)  # a single tag is no entry of `tags`
        assert arrays["group_targets"].tolist() == list(range(9))


def test_columns_are_not_changed_by_a_build():
    columns = columns_of({0: Predicate([Descriptor(["a", "b"]), Descriptor(["b"])])})
    words = columns.words.copy()
    for name in TAG_ENGINES:
        engine(name).build(columns, lambda _: None, ())
    assert np.array_equal(columns.words, words)
