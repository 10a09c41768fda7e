"""Fixtures of several modules: a router with HTTP, and a client of it."""

import pytest
from support.http_servers import running_http


@pytest.fixture(scope="module")
def server():
    with running_http() as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as opened:
        yield opened
