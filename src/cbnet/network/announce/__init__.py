"""Predicates that routers announce to each other, and the tables that hold them."""
