import json


def test_the_folder_of_a_pipeline_becomes_a_page(cbnet, tmp_path):
    stage = {
        "stage": "tags", "written": "2026-01-31 09:00", "rows": 3, "bytes": 100, "seconds": 1.5, "facts": {}, "cost": {},
        "inputs": {}, "parameters": {}, "version": 1, "fingerprint": "0123456789abcdef",
    }  # fmt: skip
    (tmp_path / "out" / "tags").mkdir(parents=True)
    (tmp_path / "out" / "tags" / "_cbnet.json").write_text(json.dumps(stage))
    done = cbnet("lab", "report", tmp_path / "out", "--output", tmp_path / "page.html")
    assert (done.code, done.err) == (0, f"{tmp_path / 'page.html'}: 2 sections\n")
    assert "0123456789ab" in (tmp_path / "page.html").read_text()
    (tmp_path / "out" / "tags" / "_cbnet.json").write_text("nothing")
    done = cbnet("lab", "report", tmp_path / "out", "--output", tmp_path / "page.html")
    assert (done.code, "this is not a manifest; run the stage again" in done.err) == (2, True)


def test_a_folder_without_results_is_refused(cbnet, tmp_path):
    done = cbnet("lab", "report", tmp_path, "--output", tmp_path / "page.html")
    assert done.code == 2
    assert "no results in this folder; give the folder of `cbnet lab reproduce` or `cbnet pipeline run`" in done.err


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
