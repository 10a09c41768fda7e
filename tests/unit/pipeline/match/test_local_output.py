"""Output folders of this machine, which the executors of a cluster cannot reach."""

from types import SimpleNamespace

import pytest

from cbnet.errors import InputError
from cbnet.pipeline.match.match_job import MatchJob, run_match
from cbnet.pipeline.match.match_stream import MatchStream, StreamJob

CLUSTER = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077"))
CANNOT_REACH = "the executors of spark://host:7077 cannot reach this path"


def test_job_refuses_a_local_folder(tmp_path):
    with pytest.raises(InputError, match=CANNOT_REACH) as raised:
        run_match(
            CLUSTER, MatchJob(messages=["hdfs://host/m.json"], format="json", tables=["t.cbt"]), str(tmp_path / "out")
        )
    assert f"file://{tmp_path}/out if it is shared" in str(raised.value)


@pytest.mark.parametrize(("out", "checkpoint"), [("out", None), ("hdfs://host/out", "checkpoint")])
def test_stream_refuses_a_local_folder_or_checkpoint(monkeypatch, out, checkpoint):
    monkeypatch.setattr("cbnet.pipeline.match.match_stream.require_classic", lambda *_: None)
    job = StreamJob(messages="hdfs://host/in", format="json", tables=["t.cbt"])
    with pytest.raises(InputError, match=CANNOT_REACH):
        MatchStream(CLUSTER, job, out, checkpoint=checkpoint)


def test_dry_run_of_a_stream_needs_no_output_folder(monkeypatch):
    monkeypatch.setattr("cbnet.pipeline.match.match_stream.require_classic", lambda *_: None)
    MatchStream(CLUSTER, StreamJob(messages="hdfs://host/in", format="json", tables=["t.cbt"]), "")
