import pytest

from cbnet.errors import InputError, TableFileError
from cbnet.files import read_text, unreadable, unwritable
from cbnet.toml_files import check_keys, parse_toml, toml, toml_key


def test_text_is_read_without_byte_order_mark(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes("\ufeffé\r\n".encode())
    assert read_text(path) == "é\r\n"


def test_error_names_file_and_line_that_is_not_utf8(tmp_path):
    path = tmp_path / "f.txt"
    path.write_bytes(b"a\nb\xff\n")
    with pytest.raises(InputError) as raised:
        read_text(path)
    assert str(raised.value) == f"{path}:2: not UTF-8; save the file as UTF-8"


def test_error_of_a_missing_file_names_file_and_reason(tmp_path):
    with pytest.raises(InputError, match=r"none\.txt: cannot read: No such file or directory$"):
        read_text(tmp_path / "none.txt")


def test_file_errors_have_the_reason_of_any_exception():
    assert str(unreadable("f", EOFError("truncated"))) == "f: cannot read: truncated"
    assert str(unreadable("f", PermissionError(13, "a long text of a library"))) == "f: cannot read: Permission denied"
    error = unwritable("f", OSError(28, ""), TableFileError)
    assert (type(error), str(error)) == (TableFileError, "f: cannot write: No space left on device")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = \n", "f:2:5: not TOML: Invalid value"),
        ('a = "x = "y""', "f:1:11: not TOML: Expected newline or end of document after a statement; put a string"),
        ("a = " + "[" * 5_000, "f: TOML too deeply nested, or a number too long"),
        ("a = " + "9" * 5_000, "f: TOML too deeply nested, or a number too long"),
    ],
)
def test_toml_error_has_location_and_hint(text, message):
    with pytest.raises(InputError) as raised:
        parse_toml(text, "f")
    assert str(raised.value).startswith(message)


def test_unknown_key_is_refused_with_the_nearest_known_one():
    with pytest.raises(InputError, match=r"unknown key 'nmae' in \[a\]; did you mean 'name'\?$"):
        check_keys(["name", "nmae"], ["name", "size"], " in [a]")
    with pytest.raises(InputError, match=r"unknown key 'x'; known keys: name, size$"):
        check_keys(["x"], ["name", "size"], "")


@pytest.mark.parametrize("value", ['a"b\\\n\x7f\x00é', 3, -0.5, True, {}, {"a b": "c", "d": 1}])
def test_written_toml_is_read_back(value):
    assert parse_toml(f"{toml_key('a.b')} = {toml(value)}") == {"a.b": value}
