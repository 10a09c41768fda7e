"""The parts of `cbnet lab simulate`: inputs, configured schemes, output."""
