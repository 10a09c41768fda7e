import json

GOOD = 'name = "g"\n' + "".join(
    f'[[domain]]\nnetwork = "{n}"\nlisten = "127.0.0.1:{p}"\n' for n, p in (("x", 1), ("y", 2))
)


def test_gateway_checks_a_file(cbnet, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text(GOOD)
    assert cbnet("gateway", file, "--check").out == "the configuration of g, between x and y, is valid\n"
    told = json.loads(cbnet("gateway", file, "--check", "--json").out)
    assert told == {"gateway": "g", "networks": ["x", "y"], "ok": True}


def test_gateway_reports_an_invalid_file(cbnet, tmp_path):
    file = tmp_path / "gateway.toml"
    file.write_text(GOOD.replace('"y"', '"x"'))
    outcome = cbnet("gateway", file)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error: {file}:6: two domains have network = 'x'; use a different value in each\n"
