import pytest

from cbnet import parse
from cbnet.errors import FileError, InputError
from cbnet.matching.files.predicate_files import read_columns, read_predicates


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_toml_values_are_texts_or_lists_of_texts(tmp_path):
    path = written(
        tmp_path, "p.toml", "[interfaces]\nmilan = 'dest = \"MXP\"'\n'a b' = ['x = 1', '#sale']\nnone = []\n"
    )
    assert read_predicates(path) == {
        "milan": parse('dest = "MXP"'), "a b": parse("x = 1 or #sale"), "none": parse("false"),
    }  # fmt: skip


def test_json_lines_or_repeated_interfaces_and_keep_numbers(tmp_path):
    rows = '{"interface": 1, "predicate": "x = 1"}\n\n{"interface": "a", "predicate": "y = 1"}\r\n'
    rows += '{"interface": 1, "predicate": "z = 1"}\n'
    assert read_predicates(written(tmp_path, "p.jsonl", rows)) == {
        1: parse("x = 1 or z = 1"),
        "a": parse("y = 1"),
    }


def places(path):
    with pytest.raises(FileError) as error:
        read_predicates(path)
    assert all(mistake.file == str(path) for mistake in error.value.errors)
    return [(mistake.line, mistake.column) for mistake in error.value.errors]


def test_all_mistakes_of_a_toml_file_are_reported_with_their_positions(tmp_path):
    text = "\n".join(
        [
            "[interfaces]",
            "good = 'x = 1'",
            "literal = 'x == 1'",  # ==  at 14
            'basic = "dest == \\"MXP\\""',  # == at 15
            "multi = '''",
            "x = 1 or",
            "  y =< 3'''",  # =< at 5
            "number = 5",
            "list = ['x = 1', 'y = ']",  # the end of the second text, at 23
        ]
    )
    assert places(written(tmp_path, "p.toml", text)) == [(3, 14), (4, 15), (7, 5), (8, 1), (9, 23)]


def test_all_mistakes_of_json_lines_are_reported_with_their_positions(tmp_path):
    rows = [
        '{"interface": "a", "predicate": "dest = \\"MXP\\" and x == 1"}',  # == at 55
        '{"interface": "b"}',
        "[]",
        '{"interface": true, "predicate": "x = 1"}',
        '{"interface": "c", "predicate": 5}',
        '{"interface": "d", "predicate": "caf\\u00e9 = 1"}',  # the escape of é at 37
    ]
    path = written(tmp_path, "p.jsonl", "\n".join(rows))
    assert places(path) == [(1, 55), (2, None), (3, 1), (4, None), (5, 1), (6, 37)]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("p.toml", "[interfaces\n", "not TOML"),
        ("p.toml", "x = 1\n", "no table of interfaces"),
        ("p.toml", b"\xff", "not UTF-8"),
        ("p.txt", "", "unknown file type"),
    ],
)
def test_an_unreadable_file_is_refused_with_a_reason(tmp_path, name, content, problem):
    with pytest.raises(InputError) as error:
        read_predicates(written(tmp_path, name, content))
    assert problem in str(error.value)


def test_the_hint_lists_the_supported_suffixes(tmp_path):
    with pytest.raises(InputError, match=r"unknown file type '\.parquet'; use \.toml or \.jsonl$"):
        read_predicates(tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"unknown file type '\.txt'; use \.toml, \.jsonl or \.parquet$"):
        read_columns(tmp_path / "p.txt")


def test_a_missing_file_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_predicates(tmp_path / "none.toml")


def test_the_position_of_a_text_is_not_that_of_its_key_or_of_another_text(tmp_path):
    text = "[interfaces]\nx = 'x'\nlist = ['x = 1 and y', 'y']\na.b = 'x = 1'\n[oops]\nz = 1\n"
    # the end of each text: 2:7, 3:21 and 3:26; the key a at 4:1; the unknown table first, as it is beside
    assert places(written(tmp_path, "p.toml", text)) == [(5, 2), (2, 7), (3, 21), (3, 26), (4, 1)]


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000])
def test_toml_that_python_cannot_read_is_an_error(tmp_path, value):
    with pytest.raises(FileError):
        read_predicates(written(tmp_path, "p.toml", f"[interfaces]\na = {value}\n"))


def test_large_files_are_read_in_linear_time(tmp_path):
    import time

    lines = "".join(f"i{n} = 'x = {n}'\n" for n in range(10_000))
    rows = '{"interface": 1, "predicate": "x = 1"}\n' * 10_000
    start = time.process_time()
    assert len(read_predicates(written(tmp_path, "p.toml", f"[interfaces]\n{lines}"))) == 10_000
    assert len(read_predicates(written(tmp_path, "p.jsonl", rows))) == 1
    assert time.process_time() - start < 10
