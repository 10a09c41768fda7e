import json

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.spark.results import MANIFEST, Provenance, current_result, read_result, write_result

PROVENANCE = Provenance("fib", {"router": 7}, {"population": "ab" * 32})


def test_result_has_a_manifest(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    written = write_result(frame([(1,), (2,), (3,)], "x int"), folder, PROVENANCE)
    assert written.rows == 3
    manifest = json.loads((tmp_path / "fib" / MANIFEST).read_text())
    assert (manifest["stage"], manifest["parameters"], manifest["inputs"]) == (
        "fib",
        {"router": 7},
        {"population": "ab" * 32},
    )
    assert (manifest["rows"], manifest["fingerprint"]) == (3, PROVENANCE.fingerprint)
    assert manifest["version"]
    assert manifest["seconds"] >= 0
    assert read_result(spark, folder) == written
    assert sorted(row.x for row in written.frame(spark).collect()) == [1, 2, 3]


def test_result_is_current_only_with_equal_provenance(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    assert current_result(spark, folder, PROVENANCE) is None
    written = write_result(frame([(1,)], "x int"), folder, PROVENANCE)
    assert current_result(spark, folder, PROVENANCE) == written
    for other in (
        Provenance("fab", PROVENANCE.parameters, PROVENANCE.inputs),
        Provenance("fib", {"router": 8}, PROVENANCE.inputs),
        Provenance("fib", PROVENANCE.parameters, {"population": "cd" * 32}),
        Provenance("fib", PROVENANCE.parameters, PROVENANCE.inputs, "0.0.0"),
    ):
        assert current_result(spark, folder, other) is None


def test_failed_write_leaves_no_result(spark, frame, tmp_path):
    folder = str(tmp_path / "fib")
    write_result(frame([(1,)], "x int"), folder, PROVENANCE)
    bad = frame([(0,)], "x int").selectExpr("1 / x AS x")  # an error, as ANSI SQL says
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        write_result(bad, folder, PROVENANCE)
    assert read_result(spark, folder) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": "fib"}'])
def test_damaged_manifest_is_refused(spark, tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match="this is not the manifest of a result"):
        read_result(spark, str(tmp_path))
