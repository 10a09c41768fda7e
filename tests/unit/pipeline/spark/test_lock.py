import json
import os
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep

import pytest

from cbnet.errors import CbnetError
from cbnet.pipeline.spark.lock import LOCK, LockHolder, lock_holder, locked

ELSEWHERE = "another machine, or another container of this host"


def write_lock(folder, **members):
    holder = asdict(LockHolder.current()) | {"token": "x"} | members
    (folder / LOCK).write_text(json.dumps(holder))


def ago(seconds):
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y%m%dT%H%M%S")


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


def test_lock_of_a_living_process_stays(tmp_path):
    write_lock(tmp_path)
    with pytest.raises(CbnetError, match="is in use by another run"), locked(None, str(tmp_path)):
        pass
    assert lock_holder(None, str(tmp_path)).token == "x"


@pytest.mark.parametrize(("since", "renewed"), [(5, None), (3600, 60)])
def test_lock_of_another_container_stays_while_it_is_renewed(tmp_path, since, renewed):
    """Its process cannot be seen from here, even if the containers share the name of their host."""
    write_lock(tmp_path, system=ELSEWHERE, pid=999_999_999, since=ago(since))
    if renewed:
        (tmp_path / f"{LOCK}-x-{ago(renewed)}").touch()
    with pytest.raises(CbnetError, match="a lock that is not renewed for 120 s is taken over"):
        locked(None, str(tmp_path)).__enter__()
    assert lock_holder(None, str(tmp_path)).token == "x"


@pytest.mark.parametrize(("since", "renewed"), [(130, None), (3600, 130)])
def test_lock_of_another_container_that_is_not_renewed_is_taken_over(tmp_path, since, renewed):
    write_lock(tmp_path, system=ELSEWHERE, since=ago(since))
    if renewed:
        (tmp_path / f"{LOCK}-x-{ago(renewed)}").touch()
        (tmp_path / f"{LOCK}-y-{ago(0)}").touch()  # of a run before that one
    with locked(None, str(tmp_path)):
        assert lock_holder(None, str(tmp_path)).pid == os.getpid()
        assert not [*tmp_path.glob(f"{LOCK}-x-*")]


def test_held_lock_is_renewed_until_it_is_released(tmp_path):
    with locked(None, str(tmp_path), renewal=0.01):
        end = monotonic() + 30
        while not lock_holder(None, str(tmp_path)).renewed:
            assert monotonic() < end
            sleep(0.01)
        holder = lock_holder(None, str(tmp_path))
        assert ago(30) < holder.renewed <= ago(0)
        assert holder.since <= holder.renewed
    assert [*tmp_path.iterdir()] == []


def test_run_that_has_lost_its_lock_does_not_renew_it(tmp_path):
    with locked(None, str(tmp_path), renewal=0.01):
        write_lock(tmp_path)  # as a run that took it over, while this one was suspended
        sleep(0.1)
        assert lock_holder(None, str(tmp_path)).renewed == ""
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
