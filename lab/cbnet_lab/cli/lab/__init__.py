"""Commands of the laboratory: `cbnet lab`."""
