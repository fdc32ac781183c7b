"""The engine in a Docker container: finding Docker, the engine's image, one container around one engine.

Nothing here knows MCP or what the engine does; :mod:`sandbox.hosts` does. The ``docker`` package is imported
when a function is called, not before.
"""
