"""A server that misbehaves in one way, named on its command line; standard library only.

Most modes misbehave at ``tools/call``; those that begin with ``init-`` at the handshake, with ``list-`` at
``tools/list``.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

MODE = sys.argv[1]
OUT = sys.stdout.buffer

OK = {"content": [{"type": "text", "text": "ok"}]}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}


def raw(data: bytes) -> None:
    OUT.write(data)
    OUT.flush()


def send(message: Any) -> None:
    raw(json.dumps(message).encode() + b"\n")


def result(i: Any, value: Any) -> None:
    send({"jsonrpc": "2.0", "id": i, "result": value})


def error(i: Any, value: Any) -> None:
    send({"jsonrpc": "2.0", "id": i, "error": value})


def text(i: Any, value: str) -> None:
    result(i, {"content": [{"type": "text", "text": value}]})


def told(method: str, **params: Any) -> None:
    send({"jsonrpc": "2.0", "method": method, "params": params})


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def read() -> dict[str, Any] | None:
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None


def answer_of_client(request_id: Any) -> dict[str, Any]:
    while (message := read()) is not None:
        if message.get("id") == request_id and "method" not in message:
            return message
    sys.exit(0)


def junk(i: Any) -> None:
    raw(b"Loading model...\n\x1b[31mnpm warn\n\n[1,2\n")
    result(i, OK)


def utf8(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"a\xff\xfeb"}]}}\n' % i)


def odd_numbers(i: Any) -> None:
    raw(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"n"}],'
        b'"structuredContent":{"x":NaN,"y":1e400,"z":-Infinity,"big":12345678901234567890123}}}\n' % i
    )


def nested_result(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":%s}}\n' % (i, nested(100_000)))


def nested_somewhat(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":%s}}\n' % (i, nested(400)))


def too_complex(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":[%s]}}\n' % (i, b",".join([b"[]"] * 8_000_000)))


def too_long(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"x":"' % i + b"x" * (2 << 20) + b'"}}\n')


def too_long_id_last(i: Any) -> None:
    raw(b'{"result":{"x":"' + b"x" * (2 << 20) + b'"},"jsonrpc":"2.0","id":%d}\n' % i)


def pretty(i: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", "id": i, "result": OK}, indent=2).encode() + b"\n")


def crlf(i: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", "id": i, "result": OK}).encode() + b"\r\n")


def half(i: Any) -> None:
    raw(b'{"jsonrpc":"2.0","id":%d,"result":{"con' % i)
    os._exit(7)


def unterminated(i: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", "id": i, "result": OK}).encode())
    os._exit(0)


def close_stdout(_: Any) -> None:
    os.close(1)
    time.sleep(600)


def twice(i: Any) -> None:
    result(i, OK)
    text(i, "again")


def flood(i: Any) -> None:
    line = json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    )
    raw((line + "\n").encode() * 50_000)
    result(i, OK)


def flood_forever(_: Any) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/x"}).encode() + b"\n"
    while True:
        raw(line * 1000)


def ask_everything(i: Any) -> None:
    form = {"type": "object", "properties": {"n": {"type": "string", "minLength": 9}}, "required": ["n"]}
    message = {"role": "user", "content": {"type": "text", "text": "hi"}}
    answers = []
    for request_id, method, params in (
        ("a", "roots/list", None),
        (901, "sampling/createMessage", {"messages": [message], "maxTokens": 5}),
        (902, "elicitation/create", {"message": "?", "requestedSchema": form}),
        (
            903,
            "elicitation/create",
            {"mode": "url", "message": "?", "url": "https://x/", "elicitationId": "e"},
        ),
        (904, "vendor/thing", {}),
        (905, "ping", None),
    ):
        send({"jsonrpc": "2.0", "id": request_id, "method": method, **({"params": params} if params else {})})
        answers.append(answer_of_client(request_id))
    text(i, json.dumps(answers))


def ask_without_end(i: Any) -> None:
    result(
        i,
        {
            "resultType": "input_required",
            "inputRequests": {"r": {"method": "roots/list"}},
            "requestState": "s",
        },
    )


CALLS: dict[str, Callable[[Any], None]] = {
    "ok": lambda i: result(i, OK),
    "junk": junk,
    "utf8": utf8,
    "odd-numbers": odd_numbers,
    "nested": nested_result,
    "nested-somewhat": nested_somewhat,
    "too-complex": too_complex,
    "too-long": too_long,
    "too-long-id-last": too_long_id_last,
    "pretty": pretty,
    "crlf": crlf,
    "half": half,
    "unterminated": unterminated,
    "close-stdout": close_stdout,
    "twice": twice,
    "flood": flood,
    "flood-forever": flood_forever,
    "ask-everything": ask_everything,
    "ask-without-end": ask_without_end,
    "exit": lambda _: os._exit(7),
    "silent": lambda _: None,
    "is-error": lambda i: result(i, {"content": [{"type": "text", "text": "no"}], "isError": True}),
    "error": lambda i: error(i, {"code": -32099, "message": "bad", "data": {"k": [1]}, "extra": 1}),
    "error-code-string": lambda i: error(i, {"code": "E_FAIL", "message": "bad"}),
    "error-string": lambda i: error(i, "bad"),
    "error-without-id": lambda i: (error(None, {"code": -32700, "message": "what?"}), result(i, OK)),
    "error-text": lambda i: text(i, "Error: no such table: users"),
    "result-null": lambda i: result(i, None),
    "result-list": lambda i: result(i, [1]),
    "result-empty": lambda i: result(i, {}),
    "no-jsonrpc": lambda i: send({"id": i, "result": OK}),
    "string-id": lambda i: result(str(i), OK),
    "true-id": lambda i: (result(True, OK), result(i, OK)),
    "unknown-id": lambda i: (result(4711, OK), result(i, OK)),
    "batch": lambda i: send([{"jsonrpc": "2.0", "id": i, "result": OK}]),
    "batch-empty": lambda i: (send([]), result(i, OK)),
    "surrogate": lambda i: text(i, "a\ud800b"),
    "unknown-content": lambda i: result(
        i, {"content": [{"type": "video", "url": "x"}], "structuredContent": [1]}
    ),
    "structured": lambda i: result(i, {"content": [], "structuredContent": {"a": 1}}),
    "notification-list-params": lambda i: (
        send({"jsonrpc": "2.0", "method": "x", "params": [1]}),
        result(i, OK),
    ),
    "json-log": lambda i: (send({"level": "info", "id": i, "msg": "hello"}), result(i, OK)),
    "scalar": lambda i: (send(7), result(i, OK)),
    "huge": lambda i: text(i, "x" * (50 << 20)),
    "echo": lambda i: text(i, "echo"),
}


def listed(i: Any, params: dict[str, Any]) -> None:
    cursor = params.get("cursor", "0")
    pages: dict[str, Any] = {
        "list-pages": {
            "tools": [{**TOOL, "name": f"t{cursor}"}],
            **({"nextCursor": str(int(cursor) + 1)} if cursor < "4" else {}),
        },
        "list-endless": {"tools": [{**TOOL, "name": f"t{cursor}"}], "nextCursor": str(int(cursor) + 1)},
        "list-same-cursor": {"tools": [TOOL], "nextCursor": "1"},
        "list-empty-cursor": {"tools": [TOOL], "nextCursor": ""},
        "list-number-cursor": {"tools": [TOOL], "nextCursor": 7},
        "list-null": {"tools": None},
        "list-bad-entries": {
            "tools": [{"description": "nameless"}, 7, None, {"name": 3}, {"name": ""}, TOOL]
        },
        "list-duplicate": {"tools": [{**TOOL, "description": "one"}, {**TOOL, "description": "two"}]},
        "list-bad-hints": {
            "tools": [{**TOOL, "annotations": {"readOnlyHint": "true", "x": 1}}, {"name": "u"}]
        },
    }
    if MODE == "list-refused":
        error(i, {"code": -32601, "message": "no tools here"})
    elif MODE == "list-exit":
        os._exit(3)
    elif MODE == "list-silent":
        return
    elif MODE == "list-exit-later" and cursor != "0":
        os._exit(3)
    elif MODE == "list-exit-later":
        result(i, {"tools": [TOOL], "nextCursor": "1"})
    elif MODE == "list-late" and listed.__dict__.setdefault("asked", 0) == 0:
        listed.__dict__["asked"] = 1
        told("notifications/tools/list_changed")
        result(i, {"tools": [TOOL]})
    elif MODE == "list-late":
        result(i, {"tools": [TOOL, {**TOOL, "name": "late"}]})
    else:
        result(i, pages.get(MODE, {"tools": [TOOL]}))


def greeted(i: Any) -> None:
    match MODE:
        case "init-exit":
            os._exit(3)
        case "init-silent":
            return
        case "init-junk-exit":
            raw(b"Usage: server [--stdio]\n")
            os._exit(2)
        case "init-unknown-method":
            error(i, {"code": -32601, "message": "Method not found"})
        case "init-modern-only":
            error(i, {"code": -32022, "message": "unsupported", "data": {"supported": ["2026-07-28"]}})
        case "init-internal-error":
            error(i, {"code": -32603, "message": "database is down"})
        case "init-bad-version":
            result(
                i,
                {
                    "protocolVersion": "2099-01-01",
                    "capabilities": {},
                    "serverInfo": {"name": "x", "version": "1"},
                },
            )
        case "init-null":
            result(i, None)
        case "init-odd-types":
            result(
                i,
                {"protocolVersion": "2025-06-18", "capabilities": None, "serverInfo": 7, "instructions": [1]},
            )
        case _:
            info = {"name": "hostile", "version": "1"}
            result(i, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})


def main() -> None:
    while (message := read()) is not None:
        i, method = message.get("id"), message.get("method")
        if method == "initialize":
            greeted(i)
            if MODE == "deaf":
                time.sleep(600)
        elif method == "server/discover":
            result(
                i,
                {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "resultType": "complete",
                },
            )
        elif method == "tools/list":
            listed(i, message.get("params", {}))
        elif method == "tools/call" and message["params"]["arguments"].get("behave"):
            text(i, "well behaved")
        elif method == "tools/call":
            CALLS[MODE](i)


if __name__ == "__main__":
    main()
