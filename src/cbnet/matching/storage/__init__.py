"""Flat arrays of filters and messages: columns, codes, the table file, Arrow in and out."""
