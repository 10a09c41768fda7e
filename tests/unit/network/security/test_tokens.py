"""Tokens show who a client is, and their hashes do not show the tokens."""

from hashlib import sha256

import pytest

from cbnet import InputError
from cbnet.network.security.tokens import (
    new_token,
    parse_token,
    parse_token_hash,
    resolve_token,
    token_matches,
    token_owner,
)


def test_a_token_has_its_hash_and_no_other():
    one, two = new_token("ticker"), new_token("ticker")
    assert token_matches(one.token, one.hash)
    assert not token_matches(two.token, one.hash)
    assert not token_matches("", one.hash)
    assert not token_matches(one.token, None)


def test_a_hash_is_that_of_salt_and_token():
    digest = (
        "41c8faf12a6e6b48ecd60ba16f8681644c51d54b1e2afd05b65408e898135c22"  # printf 'saltticker.secret' | sha256sum
    )
    assert token_matches("ticker.secret", f"sha256:salt:{digest}")


def test_a_salt_may_be_any_text_and_a_token_too():
    for salt, token in (("sälz", "a.b"), ("salt", "ä.ö")):
        hash = f"sha256:{salt}:{sha256((salt + token).encode()).hexdigest()}"
        assert token_matches(token, hash)
        assert not token_matches(token + "x", hash)


def test_the_same_token_has_another_hash_each_time():
    made = {new_token("a").hash.split(":")[1] for _ in range(20)}
    assert len(made) == 20


def test_token_holds_the_name_and_256_random_bits():
    token = new_token("a.b c").token
    assert token_owner(token) == "a.b c"
    assert len(token.rpartition(".")[2]) == 43  # 256 bits, 6 in a character


def test_token_is_read_from_text_file_or_environment(tmp_path):
    file = tmp_path / "token"
    file.write_text("a.file\n")
    assert resolve_token("a.said", {"CBNET_TOKEN": "a.environment"}) == "a.said"
    assert resolve_token(f"@{file}", {}) == "a.file"
    assert resolve_token(None, {"CBNET_TOKEN": f"@{file}"}) == "a.file"
    assert resolve_token(None, {"CBNET_TOKEN": "a.environment"}) == "a.environment"
    assert resolve_token(None, {}) is None


@pytest.mark.parametrize("token", ["", "x", ".x", "x.", "a.b\nc", "a." + "x" * 200])
def test_invalid_token_is_not_quoted(token):
    with pytest.raises(InputError) as raised:
        parse_token(token)
    assert str(raised.value).startswith("not a token; a token is one line")


def test_missing_token_file_is_reported(tmp_path):
    with pytest.raises(InputError, match="cannot read: No such file"):
        resolve_token(f"@{tmp_path / 'none'}", {})


@pytest.mark.parametrize("said", [5, "", "ticker.secret", "sha256:x", "md5:x:" + "0" * 64, "sha256:x:" + "g" * 64])
def test_invalid_token_hash_is_refused(said):
    with pytest.raises(InputError, match="is not the hash of a token; create both with `cbnet token NAME`"):
        parse_token_hash(said, "[clients.a]")


def test_the_name_of_a_client_must_be_one():
    with pytest.raises(InputError, match="is not a valid client name"):
        new_token("a\nb")
