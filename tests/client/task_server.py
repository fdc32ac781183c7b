"""A server of 2025-11-25 whose tools can only be called as tasks; standard library only."""

import json
import sys
from typing import Any

STATES: dict[str, list[str]] = {
    "works": ["working", "working", "completed"],
    "instant": [],
    "fails": ["working", "failed"],
    "asks": ["working", "input_required"],
    "forever": ["working"] * 100_000,
    "plain": [],
}
RESULT = {"content": [{"type": "text", "text": "finished"}]}
states: list[str] = []
tool = ""
asked = None
log: list[str] = []


def send(message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def state(status: str) -> dict[str, Any]:
    return {"taskId": "task-1", "status": status, "pollInterval": 1, "createdAt": "", "ttl": None}


for line in sys.stdin:
    message = json.loads(line)
    i, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if method is None:
        answered = message["result"]["content"]["word"]
        send({"id": asked, "result": {"content": [{"type": "text", "text": f"finished with {answered}"}]}})
        continue
    log.append(method)
    match method:
        case "initialize":
            info = {"name": "tasks", "version": "1"}
            send(
                {"id": i, "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}}
            )
        case "tools/list":
            tools = [
                {"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}
                for name in STATES
            ]
            send({"id": i, "result": {"tools": [*tools, {"name": "log", "inputSchema": {"type": "object"}}]}})
        case "tools/call" if params["name"] == "log":
            send({"id": i, "result": {"content": [{"type": "text", "text": " ".join(log)}]}})
        case "tools/call" if params["name"] == "plain":
            send({"id": i, "result": RESULT})
        case "tools/call" if "task" not in params:
            send({"id": i, "error": {"code": -32601, "message": "only as a task"}})
        case "tools/call":
            tool, states = params["name"], list(STATES[params["name"]])
            send({"id": i, "result": {"task": state("completed" if tool == "instant" else "working")}})
        case "tasks/get":
            send({"id": i, "result": state(states.pop(0))})
        case "tasks/result" if tool == "asks":
            asked = i
            schema = {"type": "object", "properties": {"word": {"type": "string", "enum": ["yes", "no"]}}}
            question = {"message": "?", "requestedSchema": schema}
            send({"id": "q", "method": "elicitation/create", "params": question})
        case "tasks/result":
            send({"id": i, "result": {**RESULT, "isError": tool == "fails"}})
        case "tasks/cancel":
            send({"id": i, "result": state("cancelled")})
