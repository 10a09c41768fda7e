import re
from pathlib import Path

import pytest
from support.text_files import text_file

from cbnet.errors import FileError, InputError
from cbnet.pipeline.run import configuration
from cbnet.pipeline.run.configuration import read_config

TEMPLATE = Path(configuration.__file__).with_name("pipeline.toml").read_text()

config = text_file("run.toml")


def mistakes(path):
    with pytest.raises(FileError) as raised:
        read_config(path)
    return [(error.line, error.problem, error.hint) for error in raised.value.errors]


def test_empty_configuration_is_the_paper_in_small(config, tmp_path):
    found = read_config(config(""))
    assert found.out == str(tmp_path / "run")
    assert [(name, app.share, app.role) for name, app in found.applications.items()] == [
        ("web", 0.5, "subscription"),
        ("blog", 0.0724, "subscription"),
        ("video", 0.0349, "offer"),
        ("social", 0.2, "subscription"),
    ]  # [2014 §4.2.2]
    assert not found.has_traces
    assert found.folded is None


def test_template_is_valid_with_and_without_its_comments(config):
    found = read_config(config(TEMPLATE))
    assert found.applications["web"].descriptors == 66.5
    above, _, more = TEMPLATE.partition("# --- More results")
    every = read_config(config(above + re.sub("^# ", "", more, flags=re.MULTILINE).partition("\n")[2]))
    for section in ("all_routers", "folded", "tables", "live"):
        assert getattr(every, section) is not None


def test_paths_are_relative_to_the_file(config, tmp_path):
    text = """
        out = "results"
        [network]
        graph = "g.txt"
        users = "/data/users.csv"
        [sources.b]
        preset = "bookmarks"
        path = ["b/*.gz", "hdfs://host/b"]
    """
    found = read_config(config(text))
    assert found.out == str(tmp_path / "results")
    assert (found.network.graph, found.network.users) == (str(tmp_path / "g.txt"), "/data/users.csv")
    assert found.sources["b"].paths == [str(tmp_path / "b/*.gz"), "hdfs://host/b"]
    assert read_config(config(text), out="there").out == "there"
    assert read_config(config('[network]\ngraph = "ring:12"')).network.graph == "ring:12"


def test_all_mistakes_are_reported_together_with_their_lines(config):
    path = config(
        'sead = 1\n'  # 1
        '[network]\n'
        'graph = 7\n'
        'rooters = 3\n'
        '[population]\n'
        'clusters = -5\n'  # 6
        '[sources.b]\n'
        'preset = "bookmark"\n'
        'path = "b.tsv"\n'
        '[applications.web]\n'  # 10
        'read = "c"\n'
        '[applications.news]\n'
        '[folded]\n'
        'k = [1, 2000]\n'
    )  # fmt: skip
    assert mistakes(path) == [
        (1, "unknown key 'sead'", "did you mean 'seed'?"),
        (3, "graph: expected a string, got a whole number", None),
        (4, "unknown key 'rooters' in [network]", "did you mean 'routers'?"),
        (5, "clusters = -5: must be 0 or more", None),
        (7, "source: unknown preset 'bookmark'", "did you mean 'bookmarks'?"),
        (11, "no source 'c'", "add a section [sources.c]"),
        (12, "'news' is not a kind of application", "set kind to one of web, blog, video, social"),
        (13, "k must be a list of numbers from 1 to 1024", None),
    ]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[sources.b]\npath = 'b'\nsepparator = ','", 3, "unknown key 'sepparator' in [sources.b]"),
        ("[sources]\nb = 3", 2, "this must be a section"),
        ("applications = 3", 1, "applications must be sections"),
        ("[applications.web]\nshare = 1.5", 1, "share must be from 0 to 1, descriptors 0 or more, users 1 or more"),
        ("[applications.web]\nusers = 0", 1, "share must be from 0 to 1, descriptors 0 or more, users 1 or more"),
        ("[fit]\nread = ['b']", 2, "no source 'b'"),
        ("[applications.web]\nfollowers = 'f'", 1, "followers: only an application of kind 'social' that reads a source can have this key"),
        ("[sources.f]\npreset = 'followers'\npath = 'f'\n[applications.web]\nread = 'f'", 5, "source 'f' has the format 'follows'"),
        ("[topics]\ntopics = 1", 1, "topics: topics is too small: 1"),
        ("[cleaning]\nlanguage = 'klingon'", 1, "cleaning: no stemmer for language 'klingon'"),
    ],
)  # fmt: skip
def test_mistake_has_a_line_and_a_problem(config, text, line, problem):
    ((found_line, found, _),) = mistakes(config(text))
    assert (found_line, found.lower()) == (line, problem.lower())


def test_invalid_toml_is_refused_with_its_position(config, tmp_path):
    with pytest.raises(InputError, match="not TOML") as raised:
        read_config(config("out = run"))
    assert (raised.value.line, raised.value.column) == (1, 7)
    with pytest.raises(InputError, match="cannot read"):
        read_config(tmp_path / "none.toml")
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_config(tmp_path / "run.toml")
