import bz2
import gzip
import json
import random
from collections import Counter

import pyarrow as pa
import pytest

from cbnet.errors import InputError
from cbnet.pipeline.ingest.line_reader import Block, LineCounts
from cbnet.pipeline.ingest.readers import first_in_all, first_in_file, path_of, read, schema_of
from cbnet.pipeline.ingest.source import Source

TAGGED = {"format": "tagged", "header": True, "columns": {"user": "who", "item": "url", "tags": "tags"}}
HEADER = "who\twhen\turl\ttags"


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


def lines_of(count, seed):
    """Make lines, one in ten of them malformed, and what is to be read from them: rows, and reasons by number."""
    rng = random.Random(seed)
    lines, rows, rejected = [HEADER], [], {}
    for number in range(2, count + 2):
        tags = [f"t{rng.randrange(9)}" for _ in range(rng.randrange(4))]
        good = f"u{number}\t2007-01-02\thttp://{seed}/{number}\t{' '.join(tags)}"
        if rng.random() < 0.1:
            lines.append(good.replace("\t", " ", 1))
            rejected[number] = "number of fields differs from the header"
        elif rng.random() < 0.1:
            lines.append(good[len(f"u{number}") :])
            rejected[number] = "no user"
        else:
            lines.append(good)
            rows.append((f"u{number}", f"http://{seed}/{number}", tags))
    return lines, rows, rejected


def collected(frame):
    return sorted(tuple(row) for row in frame.collect())


@pytest.mark.usefixtures("small_blocks")
def test_folder_of_differently_compressed_files_is_read(spark, tmp_path):
    """Plain and bzip2 files are cut into blocks; every row keeps the number that it has in its file."""
    rows, rejected = [], []
    packers = {"a.tsv": bytes, "b.tsv.gz": gzip.compress, "c d.tsv.bz2": bz2.compress, "e.tsv.zst": zstd}
    for seed, (name, pack) in enumerate(packers.items()):
        lines, good, reasons = lines_of(60, seed)
        (tmp_path / name).write_bytes(pack("\r\n".join(lines).encode()))
        rows += good
        rejected += [(str(tmp_path / name), number, reason, lines[number - 1]) for number, reason in reasons.items()]
    reading = read(spark, Source.of({**TAGGED, "path": str(tmp_path), "max_rejected": 0.5}))
    assert reading.rows.rdd.getNumPartitions() > len(packers)
    assert collected(reading.rows) == sorted(rows)
    expected = LineCounts(4 * 60, len(rows), Counter(reason for _, _, reason, _ in rejected))
    assert reading.check() == expected
    found = [(file, row, reason, text.rstrip("\r")) for file, row, reason, text in reading.rejected().collect()]
    assert sorted(found) == sorted(rejected)
    assert reading.counts() == expected  # whatever was read again is counted once


@pytest.mark.usefixtures("small_blocks")
def test_word_count_documents_are_numbered_across_files(spark, tmp_path):
    (tmp_path / "words").write_text("".join(f"w{number}\n" for number in range(200)))
    (tmp_path / "counts").mkdir()
    documents = [f"1 {number % 200}:{number + 1}" for number in range(150)]
    documents[70] = "broken"
    (tmp_path / "counts" / "b.dat").write_text("\n".join(documents[100:]) + "\n")
    (tmp_path / "counts" / "a.dat").write_text("\n".join(documents[:100]) + "\n")
    section = {"preset": "articles", "path": str(tmp_path / "counts"), "vocabulary": str(tmp_path / "words")}
    reading = read(spark, Source.of(section))
    found = {row.item: (row.words, row.counts) for row in reading.rows.collect()}
    assert found == {str(n): ([f"w{n}"], [n + 1]) for n in range(150) if n != 70}
    assert [row.row for row in reading.rejected().collect()] == [71]


TWEET = {"user": {"id_str": "7"}, "entities": {"hashtags": [{"text": "sun"}], "urls": [{"expanded_url": "http://a"}]}}


@pytest.mark.parametrize(
    ("section", "text", "rows"),
    [
        ({"preset": "delicious"}, "ann\t2007-12-01\thttp://x\tred blue\n", [("ann", "http://x", ["red", "blue"])]),
        ({"preset": "bookmarks"}, "user\titem\ttags\nann\tx\tred\n", [("ann", "x", ["red"])]),
        ({"preset": "article-tags"}, "user\titem\ttags\n-\t0\tred -\n", [(None, "0", ["red", "-"])]),
        (
            {"preset": "videos"},
            'video_id,channel_title,category_id,tags\nv,"A, b",25,one two|three\nw,C,1,[none]\n',
            [("A, b", "v", ["one two", "three"]), ("C", "w", [])],
        ),
        (
            {"preset": "tweets"},
            "user\tlink\thashtags\n1\tx\t#a b\n2\t\tc\n",
            [("1", "x", ["a", "b"]), ("2", None, ["c"])],
        ),
        ({"preset": "tweets-json"}, f'{json.dumps(TWEET)}\n{{"delete": {{}}}}\n', [("7", "http://a", ["sun"])]),
        ({"preset": "posts"}, "ann\tHello, world\n", [("ann", None, "Hello, world")]),
        ({"preset": "article-users"}, "0\t193\n", [("0", "193")]),
        ({"preset": "followers"}, "# follower author\n12 13\n", [("12", "13")]),
        ({"preset": "users-per-as"}, "asn,users,interpolated,raw\n55836,302941130,0,7\n", [(55836, 302941130)]),
        ({"preset": "as-relations"}, "# serial-1\n1|3705|-1\n", [(1, 3705, -1)]),
        ({"preset": "words"}, "A\nAA's\n", [("A",), ("AA's",)]),
        (
            {"preset": "stockquotes", "types": {"symbol": "string", "open": "float", "volume": "int"}},
            "[symbol,'ABIX'],[open,9.25],[volume,59500]\n",
            [("ABIX", 9.25, 59500)],
        ),
        (
            {"preset": "flights", "types": {"month": "int", "carrier": "string", "dep_delay": "int"}},
            "year,month,dep_delay,carrier\n2013,1,-2,UA\n2013,2,NA,B6\n",
            [(1, "UA", -2), (2, "B6", None)],
        ),
    ],
    ids=lambda value: value.get("preset") if isinstance(value, dict) else "",
)
def test_presets_read_their_files(spark, tmp_path, section, text, rows):
    file = tmp_path / "file"
    file.write_text(text)
    source = Source.of({**section, "path": str(file)})
    reading = read(spark, source)
    assert reading.rows.schema == schema_of(source)
    assert [tuple(row) for row in reading.rows.coalesce(1).collect()] == rows
    assert not reading.check().rejected


def test_too_many_malformed_rows_fail_and_the_limit_is_a_parameter(spark, tmp_path):
    file = tmp_path / "f.tsv"
    file.write_bytes(b"\n".join([HEADER.encode(), *[b"u\td\ti\tt"] * 7, b"x", b"\xff\t\t\t", b"\td\ti\tt"]))
    reading = read(spark, Source.of({**TAGGED, "path": str(file), "max_rejected": 0.29}))
    assert reading.rows.count() == 7
    with pytest.raises(InputError) as caught:
        reading.check()
    assert "10 lines, 7 rows, 3 rejected" in str(caught.value)
    for problem in (str(file), "not UTF-8: 1", "no user: 1", "max_rejected = 0.29"):
        assert problem in str(caught.value)
    assert [(row.row, row.text) for row in reading.rejected().collect()] == [
        (9, "x"),
        (10, "\ufffd\t\t\t"),
        (11, "\td\ti\tt"),
    ]

    allowed = read(spark, Source.of({**TAGGED, "path": str(file), "max_rejected": 0.3}))
    allowed.rows.count()
    assert allowed.check().rejected.total() == 3


def test_files_of_one_source_have_one_header(spark, tmp_path):
    (tmp_path / "a.tsv").write_text(f"{HEADER}\nu\td\ti\tt\n")
    (tmp_path / "b.tsv").write_text("url\twhen\twho\ttags\ni\td\tu\tt\n")
    reading = read(spark, Source.of({**TAGGED, "path": str(tmp_path), "max_rejected": 1}))
    reading.rows.count()
    with pytest.raises(InputError, match="different headers"):
        reading.check()


def test_missing_column_is_named_with_the_existing_ones(spark, tmp_path):
    file = tmp_path / "f.tsv"
    file.write_text("who\turl\tlabels\n")
    with pytest.raises(InputError, match="no column 'tags'; it has who, url, labels"):
        read(spark, Source.of({**TAGGED, "path": str(file)}))


def test_missing_path_is_a_one_line_error(spark, tmp_path):
    with pytest.raises(InputError, match=r"nothing\.tsv") as caught:
        read(spark, Source.of({**TAGGED, "path": str(tmp_path / "nothing.tsv")}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", HEADER, f"{HEADER}\n\n \n"])
def test_empty_trace_has_no_rows(spark, tmp_path, text):
    file = tmp_path / "f.tsv"
    file.write_text(text)
    reading = read(spark, Source.of({**TAGGED, "path": str(file)}))
    assert (reading.rows.collect(), reading.check()) == ([], LineCounts())
    assert reading.rejected().collect() == []


def test_lines_before_each_block_are_counted():
    sizes = {Block("b", 0): 5, Block("a", 70): 4, Block("a", 0): 3, Block("a", 9): 1}
    assert first_in_file(sizes) == {("a", 0): 0, ("a", 9): 3, ("a", 70): 4, ("b", 0): 0}
    assert first_in_all(sizes) == {("a", 0): 0, ("a", 9): 3, ("a", 70): 4, ("b", 0): 8}


def test_file_uri_becomes_a_plain_path():
    assert path_of("file:/data/a%20b.tsv") == "/data/a b.tsv"
    assert path_of("file:///data/a.tsv") == "/data/a.tsv"
    assert path_of("hdfs://host/a%20b") == "hdfs://host/a%20b"
