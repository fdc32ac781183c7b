"""Linux mechanisms: system calls, namespaces, the system-call filter and its observer. No MCP, no policy."""
