"""Descriptors of users, derived from their traces [2014 §4.2.1]."""
