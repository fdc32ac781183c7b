"""Provisioning: packages are fetched and installed in a box that reaches their registries and nothing else."""
