"""Commands that measure: `cbnet bench`."""
