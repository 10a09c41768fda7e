"""Runs of the pipeline: configuration, stages, manifests, plan and status."""
