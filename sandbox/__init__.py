"""hintproof: run an MCP server's tools in an instrumented sandbox and judge the hints it declares."""

__version__ = "0.1.0"
