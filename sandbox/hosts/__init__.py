"""Where a run happens: on this machine or in a container. The same engine, the same answers."""
