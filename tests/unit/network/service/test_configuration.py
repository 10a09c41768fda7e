"""Configuration: options override the environment, which overrides the file; mistakes are reported."""

import tomllib

import pytest
from support.text_files import text_file

from cbnet import InputError
from cbnet.network.protocol.addresses import Address
from cbnet.network.service.configuration import ProcessSettings, configuration
from cbnet.network.transport.journals.journal_place import DatabaseUri

file = text_file("router.toml")


def test_options_override_the_environment_and_that_the_file(file):
    path = file('name = "file"\nnetwork = "file"\ncommit = "message"\ntrees = 2\nheartbeat = 2\ndead = 9.5')
    environment = {"CBNET_NAME": "environment", "CBNET_NETWORK": "environment", "HOME": "/"}
    found = configuration(path, environment, {"name": "option", "listen": None})
    assert (found.settings.name, found.settings.network, found.settings.commit) == ("option", "environment", "message")
    assert (found.settings.trees, found.settings.heartbeat, found.settings.dead) == (2, 2.0, 9.5)
    assert found.listen == Address("127.0.0.1", 4001)
    sources = {key: value.source for key, value in found.values.items()}
    assert (sources["name"], sources["network"], sources["listen"]) == (
        "option",
        "environment CBNET_NETWORK",
        "default",
    )
    assert sources["commit"] == str(path)


def test_an_empty_variable_counts_as_not_set(file):
    path = file('name = "a"\njournal = "j"\nhistory = "x > 0"\n')
    assert configuration(path, {"CBNET_HISTORY": ""}, {}).settings.history == "x > 0"
    assert configuration(path, {}, {"history": ""}).settings.history == ""


def test_a_journal_is_a_folder_beside_the_file_or_a_database_whose_password_is_not_shown(file):
    path = file('name = "a"\njournal = "j"\n')
    assert configuration(path, {}, {}).process.journal == path.parent / "j"
    uri = "postgresql://ann:secret@h/db"
    found = configuration(file(f'name = "a"\njournal = "{uri}"\n'), {}, {})
    assert found.process.journal == DatabaseUri(uri)
    assert f'journal = "postgresql://ann:***@h/db"  # {path}' in found.lines()


def test_tables_are_pairs_outside_the_file(file):
    path = file('name = "a"\n[neighbours]\nb = "127.0.0.1:2"\n[weights]\nb = 7')
    found = configuration(path, {}, {})
    assert (found.neighbours, found.settings.weights) == ({"b": Address("127.0.0.1", 2)}, {"b": 7})
    environment = {
        "CBNET_NEIGHBOURS": "b=127.0.0.1:2,c=127.0.0.1:3",
        "CBNET_WEIGHTS": "c=5",
        "CBNET_CLIENT_CERTIFICATES": "false",
    }
    found = configuration(None, environment, {"name": "a", "heartbeat": "0.5"})
    assert found.neighbours == {"b": Address("127.0.0.1", 2), "c": Address("127.0.0.1", 3)}
    assert (found.settings.weights, found.values["client_certificates"].value, found.settings.heartbeat) == (
        {"c": 5},
        False,
        0.5,
    )


def test_roots_are_names_or_numbers(file):
    assert configuration(file('name = "a"\nroots = [7, "b"]'), {}, {}).settings.roots == ("7", "b")
    assert configuration(None, {"CBNET_ROOTS": "7, b"}, {"name": "a"}).settings.roots == ("7", "b")
    with pytest.raises(InputError, match="roots must be a list of names, not 'b'"):
        configuration(file('name = "a"\nroots = "b"'), {}, {})


def test_printed_configuration_can_be_read_again(file):
    path = file(
        'name = "a"\nroots = [1, 2]\nlisten = "127.0.0.1:7"\n[neighbours]\nb = "127.0.0.1:2"\n"c d" = "127.0.0.1:3"'
    )
    found = configuration(path, {}, {"scheme": "multitree"})
    printed = "\n".join(found.lines())
    assert tomllib.loads(printed)["neighbours"] == {"b": "127.0.0.1:2", "c d": "127.0.0.1:3"}
    again = configuration(file(printed), {}, {})
    assert (again.settings, again.listen, again.neighbours) == (found.settings, found.listen, found.neighbours)


def test_a_history_that_is_not_set_is_not_an_empty_one(file):
    absent = configuration(file('name = "a"'), {}, {})
    assert absent.settings.history is None
    assert "# history: not set" in [*absent.lines()]
    for found in (
        configuration(file('name = "a"\nhistory = ""'), {}, {}),
        configuration(file('name = "a"\nhistory = "x > 0"'), {}, {"history": ""}),
    ):
        assert found.settings.history == ""
        assert any(line.startswith('history = ""  # ') for line in found.lines())


@pytest.mark.parametrize(
    ("text", "environment", "options", "problem"),
    [
        ("", {}, {}, "the router has no name"),
        ('nmae = "a"', {}, {}, "unknown key 'nmae'; did you mean 'name'?"),
        ("name = 5", {}, {}, "name must be a string, not 5"),
        ('name = "a"\ntrees = 1.5', {}, {}, "trees must be a whole number, not 1.5"),
        ('name = "a"\ntrees = true', {}, {}, "trees must be a whole number"),
        ('name = "a"\nneighbours = 5', {}, {}, "neighbours must be a table"),
        ('name = "a"\n[neighbours]\nb = 5', {}, {}, "neighbours.b must be a string"),
        ('name = "a"\n[neighbours]\nb = "x"', {}, {}, "'x' is not an address"),
        ('name = "a"\n[weights]\nb = "x"', {}, {}, "'x' is not a whole number"),
        ('name = "a"\nscheme = "best"', {}, {}, "unknown scheme 'best'"),
        ('name = "a"\nlisten = "0.0.0.0:4001"', {}, {}, "0.0.0.0:4001 is reachable from other machines"),
        ('name = "a"\nhttp = "0.0.0.0:9090"', {}, {}, "0.0.0.0:9090 is reachable from other machines, but has no TLS"),
        ("name = ", {}, {}, "not TOML: Invalid value"),
        ('name = "a"\nhistory = "x > 0"', {}, {}, "`history` needs a journal"),
        ('name = "a"\nhome = "%s"' % ("x" * 65), {}, {}, "home"),
        ('name = "a"\njournal = "j"', {}, {"history": "x >"}, "history: a value is missing"),
        ('name = "a"\nhistory_bytes = 0', {}, {}, "`history_bytes` is 0; use more than 0"),
        (f'name = "a"\nqueue_bytes = {2**63 - 1}0', {}, {}, "and at most 9,223,372,036,854,775,807"),
        ('name = "a"\ncache_age = inf', {}, {}, "`cache_age` is inf; use 0 or more"),
        ('name = "a"\n[weights]\nb = 1_000_001', {}, {}, "use a number from 1 to 1,000,000"),
        ('name = "a"\ntrees = 65', {}, {}, "use from 1 to 64"),
        (f"name = '{'x' * 65}'", {}, {}, "use 1 to 64 printable characters"),
        (f"name = 'a'\nnetwork = '{'x' * 65}'", {}, {}, "use 1 to 64 printable characters"),
        ('name = "a"\ndrain = 3601', {}, {}, "use 0 to 3,600"),
        (
            'name = "a"',
            {"CBNET_LISTNE": "x"},
            {},
            "unknown environment variable CBNET_LISTNE; did you mean CBNET_LISTEN?",
        ),
        ('name = "a"', {"CBNET_TREES": "x"}, {}, "CBNET_TREES: 'x' is not a whole number"),
        ('name = "a"', {"CBNET_NEIGHBOURS": "b"}, {}, "'b' has no name"),
        ('name = "a"', {}, {"trees": "0"}, "invalid number of trees: 0"),
        ('name = "a"', {}, {"client_certificates": "yes"}, "'yes' is not true or false"),
        ('name = "a"', {}, {"speed": "9"}, "unknown key 'speed' in --set"),
    ],
)
def test_mistake_is_reported(file, text, environment, options, problem):
    with pytest.raises(InputError) as raised:
        configuration(file(text), environment, options)
    assert problem in str(raised.value)


def test_all_mistakes_of_a_file_are_reported_with_their_lines(file):
    path = file('nmae = "a"\n\ntrees = 1.5\n[neighbours]\nb = "x"\n')
    with pytest.raises(InputError) as raised:
        configuration(path, {}, {})
    assert [(mistake.line, mistake.problem) for mistake in raised.value.errors] == [
        (1, "unknown key 'nmae'"),
        (3, "trees must be a whole number, not 1.5"),
        (4, "'x' is not an address"),
    ]


@pytest.mark.parametrize(
    ("text", "environment", "line"),
    [
        ('name = "a"\nheartbeat = 2\ndead = 1.5\n', {}, 2),
        ('dead = 1.5\nname = "a"\n\nheartbeat = 2\n', {}, 1),
        ('name = "a"\nheartbeat = 9\n', {}, 2),
        ('name = "a"\n\nhistory = "x > 0"', {}, 3),
        ('\nname = ""', {}, 2),
        ('name = "a"\nlisten = "x"', {}, 2),
        ('name = "a"\nkey = "k.pem"', {}, 2),
        ('name = "a"\nlisten = "0.0.0.0:1"\nrouters = ["b"]', {}, 2),
        ('name = "a"\ntrees = 3\nheartbeat = 9\n', {"CBNET_DEAD": "5"}, 3),
        ('name = "a"\nheartbeat = 2\n', {"CBNET_HEARTBEAT": "9"}, None),  # the file did not say so
        ('network = "n"', {}, None),  # no name
    ],
)
def test_a_mistake_of_several_keys_has_the_line_of_the_first_of_them(file, text, environment, line):
    with pytest.raises(InputError) as raised:
        configuration(file(text), environment, {})
    assert raised.value.line == line


def test_mistakes_in_the_clients_of_a_router_file_have_lines(file):
    path = file('name = "a"\n[clients.b]\npublish = 5\n[clients.c]\n\n[clients.d]\nx = 1\n')
    with pytest.raises(InputError) as raised:
        configuration(path, {}, {})
    assert [(mistake.line, mistake.problem) for mistake in raised.value.errors] == [
        (2, "publish in [clients.b] must be a predicate, not 5"),
        (6, "unknown key 'x' in [clients.d]"),
    ]


def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="cannot read: No such file"):
        configuration(tmp_path / "none.toml", {}, {})


# --- settings of the process


def test_http_is_off_by_default():
    assert configuration(None, {}, {"name": "a"}).process == ProcessSettings(None, "text", "info", 5.0)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("http", "nowhere", "is not an address"),
        ("http_origins", "*", "http_origins: '\\*' is not an origin; write it as in https://example.org"),
        ("http_connections", "0", "invalid http_connections 0; use 1 or more"),
        ("log", "xml", "unknown log 'xml'; use one of text, json"),
        ("log_level", "loud", "unknown log_level 'loud'; use one of debug"),
        ("drain", "-1", "invalid drain time -1 s; use 0 to 3,600"),
        ("drain", "nan", "invalid drain time"),
    ],
)
def test_invalid_setting_of_the_process_is_an_input_error(key, value, problem):
    with pytest.raises(InputError, match=problem):
        configuration(None, {}, {"name": "a", key: value})
