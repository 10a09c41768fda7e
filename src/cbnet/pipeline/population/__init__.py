"""Populations of users, generated from models of traces [2014 §4.2.2]."""
