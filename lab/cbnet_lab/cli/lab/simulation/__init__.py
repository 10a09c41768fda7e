"""The parts of `cbnet lab simulate`: inputs, configured schemes, totals of requests, output."""
