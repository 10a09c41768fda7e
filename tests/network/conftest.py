"""Fixtures of several modules: a router with HTTP, and a client of it; a PostgreSQL server."""

import pytest
from support.http_servers import running_http

from cbnet_lab.bench.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def server():
    with running_http() as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres():
    with PostgresServer() as server:
        yield server
