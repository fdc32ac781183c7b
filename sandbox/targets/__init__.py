"""Targets: from what the user named to something that a box can launch, by looking only.

Nothing is imported here: what reads an order for an image (:mod:`sandbox.targets.dockerrun`) is of use on every
system, what resolves a command on Linux alone.
"""
