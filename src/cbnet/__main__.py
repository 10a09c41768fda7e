"""`python -m cbnet` is the `cbnet` command."""

from cbnet.cli.app import main

main()
