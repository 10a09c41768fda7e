"""The laboratory: generators, benchmarks, the experiments of the papers, and their reports."""
