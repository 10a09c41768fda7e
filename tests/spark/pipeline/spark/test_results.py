import json

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.spark.results import ABOUT, Made, is_done, read_result, write_result

MADE = Made("fib", {"router": 7}, {"population": "ab" * 32})


def test_a_result_says_what_made_it(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    written = write_result(frame([(1,), (2,), (3,)], "x int"), folder, MADE)
    assert written.rows == 3
    about = json.loads((tmp_path / "fib" / ABOUT).read_text())
    assert (about["stage"], about["parameters"], about["inputs"]) == ("fib", {"router": 7}, {"population": "ab" * 32})
    assert (about["rows"], about["fingerprint"]) == (3, MADE.fingerprint)
    assert about["version"]
    assert about["seconds"] >= 0
    assert read_result(spark, folder) == written
    assert sorted(row.x for row in written.frame(spark).collect()) == [1, 2, 3]


def test_what_is_done_is_known_by_all_that_made_it(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    assert is_done(spark, folder, MADE) is None
    written = write_result(frame([(1,)], "x int"), folder, MADE)
    assert is_done(spark, folder, MADE) == written
    for other in (
        Made("fab", MADE.parameters, MADE.inputs),
        Made("fib", {"router": 8}, MADE.inputs),
        Made("fib", MADE.parameters, {"population": "cd" * 32}),
        Made("fib", MADE.parameters, MADE.inputs, "0.0.0"),
    ):
        assert is_done(spark, folder, other) is None


def test_a_result_that_failed_half_way_is_not_there(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    write_result(frame([(1,)], "x int"), folder, MADE)
    bad = frame([(0,)], "x int").selectExpr("1 / x AS x")  # an error, as ANSI SQL says
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_result(bad, folder, MADE)
    assert read_result(spark, folder) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": "fib"}'])
def test_a_damaged_file_is_refused(spark, tmp_path, text):
    (tmp_path / ABOUT).write_text(text)
    with pytest.raises(InputError, match="this does not say what made the result"):
        read_result(spark, str(tmp_path))
