"""`cbnet keypair`: make the key with which a router signs its records, and its public key for all routers."""

from __future__ import annotations

from pathlib import Path

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import JSON, argument, option


def keypair(
    name: str = argument(..., "ROUTER", "Name of the router."),
    output: Path | None = option(None, "FILE", "File for the private key.", name="--output -o", shown="ROUTER.key"),
    json: bool = JSON,
) -> None:
    """Write a new private key to a file, and print the public key for the configuration of all routers.

    Example: cbnet keypair a
    """
    from cbnet.errors import InputError
    from cbnet.files import unwritable
    from cbnet.network.security.record_signatures import PUBLIC_KEYS, new_key_pair, public_key_line
    from cbnet.toml_files import toml

    new, path = new_key_pair(name), output or Path(f"{name}.key")
    try:
        path.touch(0o600, exist_ok=False)
        path.write_text(new.private)
    except FileExistsError:
        hint = "write to another file with --output, or remove it: without it, its router cannot sign any more"
        raise InputError("this file exists", hint=hint, file=str(path)) from None
    except OSError as error:
        raise unwritable(path, error) from None
    if json:
        print_json({"router": name, "file": str(path), "public_key": new.public})
        return
    print(public_key_line(name, new.public))
    print_note(
        f"the line above is for the table [{PUBLIC_KEYS}] of all routers; the private key is for {name} alone:\n\n"
        f"signing_key = {toml(str(path))}"
    )
