"""The SDK's messages as plain JSON objects."""

from __future__ import annotations

from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from sandbox.model import Json


def plain(message: JSONRPCMessage) -> dict[str, Json]:
    """The JSON object of an SDK message, its params and result being the very same objects."""
    head: dict[str, Json] = {"jsonrpc": "2.0"}
    match message:
        case JSONRPCRequest(id=request_id, method=method, params=params):
            head |= {"id": request_id, "method": method}
        case JSONRPCNotification(method=method, params=params):
            head["method"] = method
        case JSONRPCResponse(id=request_id, result=result):
            return head | {"id": request_id, "result": result}
        case JSONRPCError(id=request_id, error=error):
            data = {} if error.data is None else {"data": error.data}
            return head | {"id": request_id, "error": {"code": error.code, "message": error.message, **data}}
    return head if params is None else head | {"params": params}
