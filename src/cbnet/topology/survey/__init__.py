"""Measures of graphs and of trees over them."""
