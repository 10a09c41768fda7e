"""What benchmarks print: tables for people, JSON Lines for programs."""
