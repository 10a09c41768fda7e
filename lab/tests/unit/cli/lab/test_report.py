import pyarrow as pa
import pyarrow.parquet as pq


def test_a_simulation_becomes_a_page(cbnet, tmp_path):
    run = ("lab", "simulate", "--topology", "ring:8", "--random", "receivers=3,filters=1", "--messages", "5", "--json")
    (tmp_path / "rows.jsonl").write_text(cbnet(*run).out)
    done = cbnet("lab", "report", tmp_path / "rows.jsonl", "--output", tmp_path / "page.html", "--title", "A ring")
    assert (done.code, done.err) == (0, f"{tmp_path / 'page.html'}: 1 section\n")
    text = (tmp_path / "page.html").read_text()
    assert "<h1>A ring</h1>" in text
    for told in ("rows.jsonl", "state bits", ">psf<", ">drp<"):
        assert told in text


def test_rows_of_several_kinds_are_apart(cbnet, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"b": 2}\n\n{"a": 3}\n')
    done = cbnet("lab", "report", tmp_path / "rows.jsonl", "--output", tmp_path / "page.html")
    assert "2 sections" in done.err


def test_a_parquet_file_is_read(cbnet, tmp_path):
    pq.write_table(pa.table({"tags": [[1, 2]]}), tmp_path / "some.parquet")
    done = cbnet("lab", "report", tmp_path / "some.parquet", "--output", tmp_path / "page.html")
    assert (done.code, "1 section" in done.err) == (0, True)
    assert "[1, 2]" in (tmp_path / "page.html").read_text()


def test_other_files_are_refused(cbnet, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"a": 1}\n[2]\n')
    (tmp_path / "bad.parquet").write_text("nothing")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.jsonl").write_text("\n")
    for name, told in (
        ("bad.jsonl", "bad.jsonl:2: this line is not a JSON object"),
        ("bad.parquet", "cannot read"),
        ("empty", "no results in this folder; give the folder of `cbnet lab reproduce` or `cbnet pipeline run`"),
        ("empty.jsonl", "there are no rows"),
        ("none.jsonl", "cannot read"),
    ):
        done = cbnet("lab", "report", tmp_path / name, "--output", tmp_path / "page.html")
        assert done.code == 2
        assert told in done.err


def test_a_reproduction_becomes_markdown_pages(cbnet, tmp_path):
    cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path / "results")
    done = cbnet("lab", "report", tmp_path / "results", "--output", tmp_path / "pages")
    assert (done.code, done.err) == (0, f"{tmp_path / 'pages'}: 6 pages\n")
    assert "(2001.md#claim-1)" in (tmp_path / "pages" / "README.md").read_text()
    assert "**Claim 1**" in (tmp_path / "pages" / "2001.md").read_text()


def test_a_reproduction_is_not_written_to_one_file(cbnet, tmp_path):
    cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path / "results")
    done = cbnet("lab", "report", tmp_path / "results", "--output", tmp_path / "page.html")
    assert (done.code, "give --output FOLDER" in done.err) == (2, True)


def test_a_folder_beside_files_is_refused(cbnet, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "results").mkdir()
    done = cbnet("lab", "report", tmp_path / "rows.jsonl", tmp_path / "results", "--output", tmp_path / "page.html")
    assert (done.code, "this is a folder, not a file of rows" in done.err) == (2, True)
