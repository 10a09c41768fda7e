"""The commands `cbnet lab` and `cbnet bench`."""
