"""Shortest-path trees, their roots and their ties."""
