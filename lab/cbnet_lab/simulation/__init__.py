"""Inputs of simulations: receivers, messages and configured schemes."""
