import pyarrow as pa

from cbnet_lab.experiments.experiment import ExperimentContext
from cbnet_lab.experiments.y2002.introduction import MEMORY

TINY = MEMORY.parameters(filters=(1000,), interfaces=(20, 0))


def test_table_is_at_least_as_large_as_the_words_of_its_filters():
    rows = MEMORY.run(TINY, ExperimentContext())["sizes"].to_pylist()
    assert {(row["engine"], row["case"]) for row in rows} == {
        (engine, case) for engine in ("pivot", "counting") for case in ("I = 20", "I = F")
    }
    assert all(row["bytes"] > 4 * row["constraints"] for row in rows)


def test_more_than_48_bytes_fail():
    def verdict(each, filters=250_000):
        row = {"case": "I = 20", "engine": "counting", "filters": filters, "constraints": 50, "bytes": 50 * each}
        (finding,) = MEMORY.findings({"sizes": pa.Table.from_pylist([row])}, TINY)
        return finding.verdict

    assert (verdict(48), verdict(49)) == ("holds", "fails")
    assert (verdict(48, 10), verdict(49, 10)) == ("unmeasured", "fails")
