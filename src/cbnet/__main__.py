"""Entry point of `python -m cbnet`, which is the `cbnet` command."""

from cbnet.cli.app import main

main()
