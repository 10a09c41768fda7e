"""A router that others can reach does not run without knowing who they are, unless it is told so in words."""

import tomllib

import pytest
from support.certificates import Authority

from cbnet import InputError
from cbnet.network.security.access import INSECURE
from cbnet.network.security.tokens import new_token
from cbnet.network.service.configuration import configuration

BEYOND = 'name = "a"\nlisten = "0.0.0.0:4001"\n'
TLS = 'certificate = "ca-a.pem"\nauthority = "ca.pem"\n'
ROUTERS = 'routers = ["b"]\n'
CLIENTS = f'[clients.ticker]\ntoken = "{new_token("ticker").hash}"\nsubscribe = "x = 1"\n'


@pytest.fixture
def file(tmp_path):
    Authority(tmp_path, "ca").issue("a")

    def write(text):
        path = tmp_path / "router.toml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("", ["TLS", "[clients.NAME]", "routers"]),
        (TLS, ["[clients.NAME]", "routers"]),
        (TLS + ROUTERS, ["[clients.NAME]"]),
        (TLS + CLIENTS, ["routers"]),
        (ROUTERS + CLIENTS, ["TLS"]),
    ],
)
def test_public_router_without_security_names_what_is_missing(file, said, missing):
    with pytest.raises(InputError) as raised:
        configuration(file(BEYOND + said), {}, {})
    problem = raised.value.problem
    assert problem.startswith("0.0.0.0:4001 is reachable from other machines, but has no")
    assert [each for each in ("TLS", "[clients.NAME]", "routers") if each in problem] == missing
    assert f'insecure = "{INSECURE}"' in raised.value.hint


def test_secured_router_may_listen_publicly(file):
    found = configuration(file(BEYOND + TLS + ROUTERS + '[neighbours]\nc = "10.0.0.3:4001"\n' + CLIENTS), {}, {})
    assert found.security.access.routers == {"b", "c"}  # who is dialled may dial too
    assert found.security.access.has_certificates
    assert str(found.security.access.clients["ticker"].rights.subscribe) == "x = 1"
    assert found.security.tls.authority == str(file("").parent / "ca.pem")  # beside the file


def test_insecure_text_allows_a_public_router(file):
    found = configuration(file(BEYOND + f'insecure = "{INSECURE}"'), {}, {})
    assert (found.security.access.clients, found.security.tls) == (None, None)
    for words in ("yes", "true", INSECURE.upper()):
        with pytest.raises(InputError, match="is reachable from other machines"):
            configuration(file(BEYOND + f'insecure = "{words}"'), {}, {})


def test_list_of_clients_restricts_routers_too(file):
    found = configuration(file('name = "a"\n[neighbours]\nb = "127.0.0.1:2"\n' + CLIENTS), {}, {})
    assert found.security.access.routers == {"b"}


def test_over_loopback_nothing_is_needed():
    assert configuration(None, {}, {"name": "a", "listen": "[::1]:4001"}).security.access.clients is None


def test_empty_lists_differ_from_missing_lists(file):
    found = configuration(file(BEYOND + TLS + "routers = []\n[clients]\n"), {}, {})
    assert (found.security.access.clients, found.security.access.routers) == ({}, frozenset())


def test_printed_configuration_can_be_read_again(file):
    found = configuration(file('name = "a"\n' + TLS + ROUTERS + CLIENTS), {}, {})
    printed = "\n".join(found.lines())
    assert tomllib.loads(printed)["clients"]["ticker"]["subscribe"] == "x = 1"
    again = configuration(file(printed), {}, {})
    assert again.security == found.security
    without = "\n".join(configuration(None, {}, {"name": "a"}).lines())
    assert "# routers: not set, so any may connect" in without
    assert "clients" not in tomllib.loads(without)


def test_environment_may_set_lists():
    found = configuration(None, {"CBNET_ROUTERS": "b, c", "CBNET_ROUTER": "x", "CBNET_TOKEN": "x.y"}, {"name": "a"})
    assert found.security.access.routers == {"b", "c"}


def test_tables_of_clients_may_be_in_a_file_of_their_own(file, tmp_path):
    (tmp_path / "clients.toml").write_text(CLIENTS)
    paths = (tmp_path / "clients.toml").as_posix()
    beside = configuration(file('name = "a"\nclients = "clients.toml"'), {}, {})
    from_option = configuration(None, {}, {"name": "a", "clients": paths})
    from_environment = configuration(None, {"CBNET_CLIENTS": paths}, {"name": "a"})
    inside = configuration(file('name = "a"\n' + CLIENTS), {}, {})
    assert beside.security == from_option.security == from_environment.security == inside.security
    assert f'clients = "{paths}"' in "\n".join(beside.lines())


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("[clients.a\n", "clients.toml:1:11: not TOML"),
        ("[client.a]", "clients.toml:1: unknown key 'client'; did you mean 'clients'?"),
        ("clients = 5", "clients.toml:1: clients must be a table; write a table [clients.NAME] for each client"),
        ("[clients.a]\npublish = 5", "clients.toml:1: publish in [clients.a] must be a predicate"),
        ("[clients.a]\nx = 1\n[clients.b]\npublish = 5", "clients.toml: 2 mistakes"),
        (None, "clients.toml: cannot read: No such file"),
    ],
)
def test_mistakes_in_a_file_of_clients_name_it(file, tmp_path, said, problem):
    if said is not None:
        (tmp_path / "clients.toml").write_text(said)
    with pytest.raises(InputError) as raised:
        configuration(file('name = "a"\nclients = "clients.toml"'), {}, {})
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ('key = "k.pem"', "key without a certificate"),
        ('authority = "ca.pem"', "authority without a certificate"),
        ('certificate = "ca-a.pem"', "certificate without an authority"),
        ("client_certificates = true", "client_certificates needs TLS"),
        ('certificate = "none.pem"\nauthority = "ca.pem"', "none.pem: cannot read: No such file"),
        ('certificate = "ca-a.pem"\nauthority = "none.pem"', "none.pem: cannot read: No such file"),
        ('certificate = "ca.pem"\nauthority = "ca.pem"', "ca.pem: not a certificate with its key in PEM format"),
        ('certificate = "router.toml"\nauthority = "ca.pem"', "router.toml: not a certificate"),
        (
            'certificate = "ca-a.pem"\nauthority = "router.toml"',
            "router.toml: not a certificate of an authority",
        ),
        ("routers = 5", "routers must be a list of names"),
        ("clients = 5", "clients must be a table"),
    ],
)
def test_security_errors_are_reported_before_the_router_runs(file, said, problem):
    with pytest.raises(InputError) as raised:
        configuration(file('name = "a"\n' + said), {}, {})
    assert problem in str(raised.value)
