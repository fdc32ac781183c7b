"""Values made up for what a server asks for: they look right for their kind and open nothing anywhere.

The same name gives the same value in every run, so that a replay meets the same server. Hosts in them are names
that exist nowhere (RFC 2606).
"""

from __future__ import annotations

import hashlib
import re
import uuid

from sandbox.model import HOME
from sandbox.targets.orders import Need

WORKSPACE = f"{HOME}/workspace"
"""The folder that every box has with samples in it (sandbox.workspace.DEFAULT_WORKSPACE, which only Linux can import)."""

_HOST = "service.example"

_SECRET = frozenset(
    "token key apikey secret password passwd pass pwd passphrase credential credentials auth bearer pat cookie jwt"
    " authorization webhook".split()
)
_DIRECTORY = frozenset(
    "dir dirs directory directories folder folders root roots workspace path paths vault repo repository home base"
    " projects location".split()
)
_NUMBER = frozenset("number timeout limit count size max min seconds ms interval retries depth num".split())
_NAMED = frozenset(
    "user username login owner org organization organisation team name database db schema namespace bucket project"
    " tenant workspace account company collection index catalog warehouse table site space board group cluster"
    " environment profile app application prefix title topic queue deployment resource".split()
)

_DATABASES = (
    ({"postgres", "postgresql", "pg"}, "postgresql://sample:{0}@db.example:5432/sample"),
    ({"mysql", "mariadb"}, "mysql://sample:{0}@db.example:3306/sample"),
    ({"mongo", "mongodb"}, "mongodb://sample:{0}@db.example:27017/sample"),
    ({"redis", "valkey"}, "redis://:{0}@cache.example:6379/0"),
    ({"amqp", "rabbitmq"}, "amqp://sample:{0}@queue.example:5672/"),
    ({"neo4j", "bolt"}, "bolt://graph.example:7687"),
    ({"mssql", "sqlserver"}, "mssql://sample:{0}@db.example:1433/sample"),
    ({"database", "db", "dsn", "connection"}, "postgresql://sample:{0}@db.example:5432/sample"),
)

_SHAPES = (
    ({"github", "gh"}, "ghp_", 36),
    ({"gitlab"}, "glpat-", 20),
    ({"openai"}, "sk-proj-", 48),
    ({"anthropic", "claude"}, "sk-ant-api03-", 93),
    ({"slack"}, "xoxb-100000000000-1000000000000-", 24),
    ({"stripe"}, "sk_test_", 24),
    ({"huggingface", "hf"}, "hf_", 34),
    ({"notion"}, "ntn_", 46),
    ({"linear"}, "lin_api_", 40),
    ({"google", "gemini", "maps", "youtube"}, "AIza", 35),
    ({"supabase"}, "sbp_", 40),
    ({"sendgrid"}, "SG.", 66),
    ({"telegram"}, "1000000000:AA", 33),
    ({"brave"}, "BSA", 28),
    ({"tavily"}, "tvly-", 32),
    ({"perplexity"}, "pplx-", 48),
    ({"npm"}, "npm_", 36),
)
"""How the keys of well-known services begin, and how much follows."""


def make_up(need: Need) -> str | None:
    """A value that looks right, None where nobody could say what would."""
    words = words_of(need.name)
    if need.choices:
        return need.choices[0]
    if need.form == "boolean":
        return "true"
    if words & {"port"}:
        return "8080"
    if need.form == "number" or words & _NUMBER:
        return "10"
    if need.form == "directory":
        return WORKSPACE
    return _file(need, words) if need.form == "file" else _of_words(need, words)


def words_of(name: str) -> frozenset[str]:
    """The words of a name, lower case: ``githubToken``, ``GITHUB_TOKEN`` and ``--github-token`` have the same."""
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name[:200])
    return frozenset(re.findall(r"[a-z0-9]+", parted.lower()))


def is_secret(name: str) -> bool:
    """Whether a variable of that name is likely to hold a secret."""
    words = words_of(name)
    return bool(words & (_SECRET | {"private", "session", "sid"})) or any(
        word.endswith(("token", "apikey", "password", "secret")) for word in words
    )


def _of_words(need: Need, words: frozenset[str]) -> str | None:
    name = need.name
    if words & {"url", "uri", "endpoint", "dsn"} or {"connection", "string"} <= words:
        return _url(name, words)
    if need.secret or is_secret(name):
        return _token(name, words)
    if words & {"host", "hostname", "domain", "server", "address", "instance", "subdomain"}:
        return _HOST
    if words & {"email", "mail"}:
        return "user@example.com"
    if words & {"region"}:
        return "us-east-1"
    if words & {"timezone", "tz"}:
        return "UTC"
    if words & {"lang", "language", "locale"}:
        return "en"
    if words & {"level"}:
        return "info"
    if words & {"id", "uuid", "guid"}:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{_HOST}"))
    found = _file(need, words)
    if found is not None:
        return found
    return "sample" if words & _NAMED else None


def _file(need: Need, words: frozenset[str]) -> str | None:
    """A folder of the box, or a file that the server makes there itself; no file can be made up that is only read."""
    told = words | words_of(need.why)
    if words & {"sqlite", "db", "database"} and (words & {"path", "file"} or need.form == "file"):
        return f"{WORKSPACE}/made-up.db"
    if words & {"memory", "storage", "store", "log", "output", "out"} and words & {"file", "path"}:
        return f"{WORKSPACE}/made-up.{'log' if 'log' in words else 'json'}"
    if words & {"file", "config", "certificate", "cert", "pem"}:
        return None
    if words & _DIRECTORY or (need.form == "file" and (told & _DIRECTORY or not words & {"source", "src"})):
        return WORKSPACE
    return None


def _url(name: str, words: frozenset[str]) -> str:
    for kinds, url in _DATABASES:
        if words & kinds:
            return url.format(_body(name, 20))
    return f"wss://{_HOST}" if words & {"ws", "websocket"} else f"https://{_HOST}"


def _token(name: str, words: frozenset[str]) -> str:
    if "aws" in words:
        return f"AKIA{_body(name, 16).upper()}" if "id" in words else _body(name, 40)
    if {"private", "key"} <= words:
        return f"0x{hashlib.blake2b(name.encode(), digest_size=32).hexdigest()}"
    for kinds, begin, length in _SHAPES:
        if words & kinds:
            return begin + _body(name, length)
    return _body(name, 40)


def _body(name: str, length: int) -> str:
    """Letters and digits that begin with a mark of ours."""
    digest = hashlib.blake2b(f"made up {name}".encode()).hexdigest()
    return f"hpmade{digest}"[:length]
