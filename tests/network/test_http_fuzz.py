"""Random requests and WebSocket frames get an answer that is no server error, and raise no exception."""

from support.http_fuzz import failures_of
from support.http_servers import running_http


def test_random_requests_and_frames_are_answered_or_refused(tmp_path):
    with running_http(journal=tmp_path, history="x >= 0") as server:
        failures = {seed: found for seed in range(200) if (found := failures_of(server, seed)[1])}
        assert failures == {}
        assert server.is_healthy()
