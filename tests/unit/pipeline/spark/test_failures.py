import pytest

from cbnet.pipeline.spark.failures import cause

WORKER = "An exception was thrown from the Python worker. Please see the stack trace below."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[PATH_NOT_FOUND] Path does not exist: a. SQLSTATE: 42K03\n\nJVM stacktrace:\n…", "[PATH_NOT_FOUND] Path does not exist: a. SQLSTATE: 42K03"),
        (f"{WORKER}\nTraceback (most recent call last):\n  File x\nZeroDivisionError: 1 / 0\n", "ZeroDivisionError: 1 / 0"),
        (f"{WORKER}\n  File x\ncbnet.errors.InputError: a.tsv: torn\n\nmore\n", "a.tsv: torn"),
        ("Job aborted\nCaused by: …\ncbnet.errors.InputError: a.tsv: torn", "a.tsv: torn"),
        ("\n  \n", "RuntimeError"),
    ],
)  # fmt: skip
def test_line_that_names_the_cause_is_found(text, line):
    assert cause(RuntimeError(text)) == line
