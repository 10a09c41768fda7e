import pytest

from cbnet.errors import FileError, InputError
from cbnet.topology import topology


@pytest.fixture
def file(tmp_path):
    def write(text, name="graph.txt"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_a_generator_or_a_file(file):
    assert len(topology("ring:12")) == 12
    assert len(topology(file("a b\n"))) == 2


def test_a_file_may_be_called_like_a_generator(file, monkeypatch, tmp_path):
    file("a b\n", "ring:12")
    monkeypatch.chdir(tmp_path)
    assert (len(topology("ring:12")), len(topology("./ring:12"))) == (12, 2)


def test_the_seed_is_handed_on():
    assert [*topology("random:30", 1).edges()] != [*topology("random:30", 2).edges()]


def test_a_graph_must_be_connected_unless_it_is_said_otherwise(file):
    path = file("a b\nc d\nd e\n5 6\n")
    with pytest.raises(InputError) as raised:
        topology(path)
    assert raised.value.problem == "the graph is not connected: its 3 components have 3, 2, 2 nodes"
    assert raised.value.file == path
    assert "--largest" in raised.value.hint
    assert topology(path, largest=True).names == ("c", "d", "e")
    assert len(topology(path, connected=False)) == 7


def test_many_components_are_not_all_listed(file):
    with pytest.raises(InputError, match="its 9 components have 2, 2, 2, 2, 2, … nodes"):
        topology(file("".join(f"a{i} b{i}\n" for i in range(9))))


@pytest.mark.parametrize(
    ("text", "hint"),
    [("rign:12", "write ring:12"), ("none.txt", "write the path of a file, or one of ring:12"), ("", "path of a file"),
     ("x" * 10_000, "path of a file"), ("a\0b", "path of a file")],
)  # fmt: skip
def test_what_names_nothing_gets_a_hint(text, hint):
    with pytest.raises(InputError, match="there is no file or generator") as raised:
        topology(text)
    assert hint in raised.value.hint


def test_the_mistakes_of_a_file_come_together(file):
    with pytest.raises(FileError) as raised:
        topology(file("a a\nb b\n"))
    assert len(raised.value.errors) == 2
