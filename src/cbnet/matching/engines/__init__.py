"""Engines that compile filters into an index and match messages against it."""
