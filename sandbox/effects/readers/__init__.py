"""Readers by meaning: what changed in a structured file, told in its own terms. They run in the worker process only."""
