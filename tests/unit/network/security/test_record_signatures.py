"""Keys for signed records: from the command to the files, and every mistake in them."""

import builtins
import json
import time
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from support.text_files import text_file

from cbnet import InputError
from cbnet.network.protocol.frames import HomeRecord, LinkRecord
from cbnet.network.security.record_signatures import RecordSignatures, new_key_pair, public_key_line
from cbnet.network.service.configuration import configuration
from cbnet.network.service.router_process import RELOADED_KEYS, _changes

file = text_file("router.toml")
A, B, G = map(new_key_pair, "abg")
HOME = 'home = "g"\nhome_key = "g.key"\n'
KEYS = f"[public_keys]\n{public_key_line('a', A.public)}\n{public_key_line('b', B.public)}\n"
OWN = 'name = "a"\nsigning_key = "a.key"\n'


@pytest.fixture(autouse=True)
def key(tmp_path):
    (tmp_path / "a.key").write_text(A.private)
    (tmp_path / "g.key").write_text(G.private)
    return tmp_path / "a.key"


def read(path):
    return configuration(path, {}, {}).security.access.signatures


def mistake(path):
    with pytest.raises(InputError) as raised:
        configuration(path, {}, {})
    return str(raised.value)


RECORD = LinkRecord("a", 1, 2, 3, 4, {})


def test_without_keys_nothing_is_signed_or_refused(file):
    found = read(file('name = "a"'))
    assert found.sign(RECORD) is RECORD
    assert (found.are_required, found.may_own("x"), found.problem(RECORD), found.first) == (False, True, "", 0)


def test_a_router_with_a_key_signs_and_requires_nothing(file):
    found = read(file(OWN))
    assert found.sign(RECORD).signature
    assert (found.are_required, found.problem(RECORD)) == (False, "")
    assert abs(found.first / 1000 - time.time()) < 1000


def test_keys_are_read_from_a_table_or_from_a_file_that_routers_share(file, tmp_path):
    (tmp_path / "keys.toml").write_text(KEYS)
    for text in (OWN + KEYS, OWN + 'public_keys = "keys.toml"\n'):
        found = read(file(text))
        assert {*found.public_keys} == {"a", "b"}
        assert found.problem(found.sign(RECORD)) == ""
        assert found.problem(RECORD) == "it is not signed"
    assert not found.may_own("c")


def test_the_record_of_a_shared_home_is_signed_with_the_key_of_the_home(file):
    found = read(file(OWN + HOME + KEYS + f"{public_key_line('g', G.public)}\n"))
    home = HomeRecord("g", 1, 2, "", [], [], router="a")
    assert found.problem(found.sign(home)) == found.problem(found.sign(RECORD)) == ""
    without = replace(found, home_seed=None)
    assert found.problem(without.sign(home)) == "the signature is not that of its owner"


def test_a_signature_is_one_of_the_network_that_is_configured(file):
    signed = read(file(OWN + 'network = "other"\n')).sign(RECORD)
    assert read(file(OWN + KEYS)).problem(signed) == "the signature is not that of its owner"


def test_the_private_key_is_in_no_text(file):
    found = read(file(OWN + KEYS))
    assert repr(found.seed) not in repr(found)
    assert A.private.splitlines()[1] not in "\n".join(configuration(file(OWN + KEYS), {}, {}).lines())


def test_a_printed_configuration_with_keys_can_be_read_again(file):
    printed = "\n".join(configuration(file(OWN + KEYS), {}, {}).lines())
    assert read(file(printed)) == read(file(OWN + KEYS))
    assert "# public_keys: not set" in [*configuration(file(OWN), {}, {}).lines()]


# --- mistakes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (OWN + 'home = "g"\n' + KEYS, "the home 'g' has no key, and records are signed; make one with `cbnet keypair g`"),
        (OWN + HOME + KEYS, "public_keys does not have the public key of home_key for 'g'"),
        (OWN + 'home_key = "a.key"\n', "home_key without a home of its own"),
        ('name = "a"\n' + HOME, "home_key without signing_key"),
        ('name = "a"\n' + KEYS, "router.toml:2: public_keys without signing_key; make a key pair with `cbnet keypair"),
        (OWN + "[public_keys]\na = 5\n", "router.toml:4: public_keys.a is not a public key; make a key pair"),
        (OWN + '[public_keys]\na = "ed25519:AAAA"\n', "router.toml:4: public_keys.a is not a public key"),
        (OWN + '[public_keys]\na = "ed25519:===="\n', "router.toml:4: public_keys.a is not a public key"),
        (OWN + f'[public_keys]\n"" = "{A.public}"\n', "'' is not a valid router name"),
        (OWN + "public_keys = 5\n", "public_keys must be a table, not 5"),
        (OWN + 'public_keys = "none.toml"\n', "none.toml: cannot read: No such file or directory"),
        (OWN + 'public_keys = "a.key"\n', "a.key:1:"),
        (
            OWN + f"[public_keys]\n{public_key_line('b', B.public)}\n",
            "public_keys does not have the public key of signing_key for 'a'; write the line " + public_key_line("a", A.public),
        ),
        (OWN + f"[public_keys]\n{public_key_line('a', B.public)}\n", "write the line " + public_key_line("a", A.public)),
        ('name = "a"\nsigning_key = "none.key"\n', "none.key: cannot read: No such file or directory"),
        ('name = "a"\nsigning_key = "router.toml"\n', "router.toml: not a private key in PEM format; make a key pair"),
    ],
    ids=str.split(  # keys are random
        "home home-other home-own home-unsigned alone number short text name type missing other another wrong no-key "
        "not-a-key"
    ),
)  # fmt: skip
def test_a_mistake_names_the_place_and_the_remedy(file, text, problem):
    assert problem in mistake(file(text))


def test_the_mistakes_of_a_shared_file_have_lines(file, tmp_path):
    (tmp_path / "keys.toml").write_text(f'[public_keys]\n{public_key_line("a", A.public)}\nb = "x"\n[clients]\n')
    text = mistake(file(OWN + 'public_keys = "keys.toml"\n'))
    assert "keys.toml:3: public_keys.b is not a public key" in text
    assert "unknown key 'clients'" in text
    (tmp_path / "keys.toml").write_text("public_keys = 5\n")
    problem = "keys.toml:1: public_keys must be a table; write a table [public_keys] with a line for each router"
    assert problem in mistake(file(OWN + 'public_keys = "keys.toml"\n'))


def test_keys_of_other_kinds_and_with_passwords_are_refused(file, key):
    def pem(private, encryption):
        return private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)

    other, own = generate_private_key(SECP256R1()), serialization.load_pem_private_key(A.private.encode(), None)
    key.write_bytes(pem(other, serialization.NoEncryption()))
    assert "a.key: not an Ed25519 key; make a key pair" in mistake(file(OWN))
    key.write_bytes(pem(own, serialization.BestAvailableEncryption(b"secret")))
    assert "a.key: the key has a password, which is not supported; use a key without a password" in mistake(file(OWN))


def test_a_missing_package_is_one_line_that_says_what_to_install(file, cbnet, monkeypatch, tmp_path):
    def missing(name, *others, real=builtins.__import__):
        if name.partition(".")[0] == "cryptography":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert "signing_key needs the package cryptography; pip install 'cbnet[signatures]'" in mistake(file(OWN))
    assert not read(file('name = "a"')).are_required
    done = cbnet("keypair", "c", "-o", tmp_path / "c.key")
    assert (done.code, done.err) == (
        2,
        "error: signing_key needs the package cryptography; pip install 'cbnet[signatures]'\n",
    )
    assert not (tmp_path / "c.key").exists()


# --- reload


def test_keys_can_be_reloaded_and_the_changes_are_named(file):
    assert {"signing_key", "public_keys"} <= RELOADED_KEYS
    before, after = (configuration(file(OWN + each), {}, {}) for each in ("", KEYS))
    assert [*_changes(before, after)] == ["public_keys: added a, b"]
    assert [*_changes(after, before)] == ["public_keys: removed a, b"]
    assert [*_changes(after, after)] == []


def test_the_same_keys_read_again_are_equal(file):
    assert read(file(OWN + KEYS)) == read(file(OWN + KEYS)) != RecordSignatures()


# --- the command


def test_the_command_writes_a_key_that_only_its_user_reads_and_prints_the_public_one(
    file, cbnet, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    done = cbnet("keypair", "r 1")
    assert (done.code, (tmp_path / "r 1.key").stat().st_mode & 0o777) == (0, 0o600)
    assert 'signing_key = "r 1.key"' in done.err
    assert read(file(f'name = "r 1"\nsigning_key = "r 1.key"\n[public_keys]\n{done.out}')).are_required


def test_the_command_prints_json(file, cbnet, tmp_path):
    path = tmp_path / "new.key"
    found = json.loads(cbnet("keypair", "a", "-o", path, "--json").out)
    assert (found["router"], found["file"]) == ("a", str(path))
    text = f'name = "a"\nsigning_key = "new.key"\n[public_keys]\na = "{found["public_key"]}"\n'
    assert read(file(text)).are_required


def test_the_command_replaces_no_file(cbnet, key):
    done = cbnet("keypair", "a", "-o", key)
    assert (done.code, done.out, key.read_text()) == (2, "", A.private)
    assert "this file exists; write to another file with --output" in done.err
    done = cbnet("keypair", "a", "-o", key / "b")
    assert (done.code, "Not a directory" in done.err) == (2, True)
    assert "is not a valid router name" in cbnet("keypair", "").err
