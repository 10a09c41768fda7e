def test_a_reproduction_becomes_markdown_pages(cbnet, tmp_path):
    cbnet("lab", "reproduce", "2006-classes", "--output", tmp_path / "results")
    done = cbnet("lab", "report", tmp_path / "results", "--output", tmp_path / "pages")
    assert (done.code, done.err) == (0, f"{tmp_path / 'pages'}: 6 pages\n")
    assert "(2001.md#claim-1)" in (tmp_path / "pages" / "README.md").read_text()
    assert "**Claim 1**" in (tmp_path / "pages" / "2001.md").read_text()
    for page in (tmp_path / "pages").glob("*.md"):
        assert page.read_text() == (tmp_path / "results" / page.name).read_text()


def test_a_folder_without_results_is_refused(cbnet, tmp_path):
    done = cbnet("lab", "report", tmp_path, "--output", tmp_path / "pages")
    assert done.code == 2
    assert "no results in this folder; give the folder of `cbnet lab reproduce`" in done.err
