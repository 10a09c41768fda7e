"""Expressions of conditions: values, functions, patterns and address blocks."""
