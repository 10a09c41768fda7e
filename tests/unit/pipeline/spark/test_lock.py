import json
import os

import pytest

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.lock import LOCK, LockHolder, lock_holder, locked


def write_lock(folder, **members):
    current = LockHolder.current()
    holder = {"host": current.host, "pid": current.pid, "began": current.began, "since": current.since, "token": "x"}
    (folder / LOCK).write_text(json.dumps(holder | members))


def test_lock_names_its_holder_and_is_removed(tmp_path):
    out = str(tmp_path / "run")
    with locked(None, out):
        holder = lock_holder(None, out)
        assert (holder.pid, holder.has_ended) == (os.getpid(), False)
    assert lock_holder(None, out) is None
    assert not (tmp_path / "run" / LOCK).exists()


def test_second_run_is_refused_with_the_name_of_the_first(tmp_path):
    with locked(None, str(tmp_path)):
        named = f"in use by another run: process {os.getpid()} on .*, since 20"
        with pytest.raises(CbnetError, match=named), locked(None, str(tmp_path)):
            pass
        assert lock_holder(None, str(tmp_path)) is not None  # the first still has it
    with locked(None, str(tmp_path)):
        pass


def test_lock_of_an_ended_process_is_taken_over(tmp_path):
    write_lock(tmp_path, pid=999_999_999)  # more than the system has
    assert lock_holder(None, str(tmp_path)).has_ended
    with locked(None, str(tmp_path)):
        assert lock_holder(None, str(tmp_path)).pid == os.getpid()


def test_number_of_an_ended_process_may_be_used_again(tmp_path):
    write_lock(tmp_path, began=LockHolder.current().began - 60)  # another process had this number before
    with locked(None, str(tmp_path)):
        assert lock_holder(None, str(tmp_path)).token != "x"


@pytest.mark.parametrize("members", [{"host": "elsewhere", "pid": 999_999_999}, {}])
def test_lock_of_another_host_or_a_living_process_stays(tmp_path, members):
    write_lock(tmp_path, **members)
    with pytest.raises(CbnetError, match="is in use by another run"), locked(None, str(tmp_path)):
        pass
    assert lock_holder(None, str(tmp_path)).token == "x"


def test_unreadable_lock_stays(tmp_path):
    (tmp_path / LOCK).write_text("torn")
    with pytest.raises(CbnetError, match=r"unknown process; .* or delete .*_lock"), locked(None, str(tmp_path)):
        pass


def test_only_one_of_several_runs_takes_a_lock_over(tmp_path):
    write_lock(tmp_path, pid=999_999_999)
    (tmp_path / f"{LOCK}-takeover").touch()
    with pytest.raises(CbnetError, match="is being taken over by another run"), locked(None, str(tmp_path)):
        pass


def test_error_in_a_run_releases_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), locked(None, str(tmp_path)):
        raise ZeroDivisionError
    assert lock_holder(None, str(tmp_path)) is None
