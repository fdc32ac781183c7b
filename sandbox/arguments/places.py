"""Aims at files, folders and repositories: what a path should name, by what the tool says it does to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sandbox.arguments.commonplace import TEXTS
from sandbox.arguments.gitwords import file_aims_in, names_repository, repository_aims
from sandbox.arguments.intent import Intent
from sandbox.arguments.scene import Aim, Field, Scene
from sandbox.arguments.words import singulars, words_of
from sandbox.workspace import FileSample

_HEADS = frozenset(
    "path file filename filepath dir directory folder workspace cwd root pathname dirname source src destination dest dst target"
    " input output basedir workdir outfile infile project repo repository location".split()
)
_PLAIN = frozenset(
    {"source", "src", "destination", "dest", "dst", "target", "input", "output", "project", "location"}
)
_OTHER_PATHS = frozenset(
    {
        "json",
        "key",
        "url",
        "xpath",
        "jsonpath",
        "object",
        "query",
        "symbol",
        "property",
        "xml",
        "class",
        "module",
    }
)
_OUTPUTS = frozenset(
    {"output", "out", "destination", "dest", "dst", "target", "save", "export", "to", "new", "outfile"}
)
_PARTS = frozenset("sheet page cell range row column paragraph slide section node element".split())
_TAKERS = frozenset("upload attach import send embed publish ingest index".split())
_SOURCES = frozenset({"source", "src", "from", "input", "old", "original", "infile"})
_FOLDERS = frozenset(
    {"dir", "directory", "folder", "root", "cwd", "workspace", "project", "basedir", "workdir", "dirname"}
)
_EXTENSIONS = frozenset(
    "pdf csv json xlsx xlsm docx md txt html xml yaml toml svg png jpg gif zip pptx db sqlite drawio ipynb py js log parquet duckdb".split()
)
_BY_WORD = {"sheet": "xlsx", "worksheet": "xlsx", "excel": "xlsx", "workbook": "xlsx", "spreadsheet": "xlsx", "document": "docx", "presentation": "pptx", "markdown": "md", "notebook": "ipynb"}  # fmt: skip
_SAYS_PATH = r"\b(absolute|relative|full|file|directory|folder|filesystem)[ -](file )?path|\bpath (to|of|for|inside|in|where|from)\b|^(the )?path\b"
_SAYS_FILE_NAME = r"\bfile[ -]?name\b|\bname of (the |an? )?((existing|new|text) )?file\b"
_TEXTUAL = ("text", "markdown", "code", "json", "csv", "yaml", "jsonl")


def is_place(field: Field, scene: Scene) -> bool:
    """Whether the field names something in the file system."""
    if (field.head == "path" and _OTHER_PATHS & set(field.words)) or field.says(
        r"\b(glob|regex|regular expression)\b"
    ):
        return False
    if field.head in _PLAIN:
        told = field.says(_SAYS_PATH) or field.says(r"\b(file|directory|folder)\b")
        return told or (not field.description and bool({"file", "directory", "folder", "path"} & scene.nouns))
    if field.head in _HEADS:
        return not field.says(r"^(the )?(owner|name of the (owner|project))")
    if field.words == ("name",) and field.says(_SAYS_FILE_NAME):
        return True
    return field.says(_SAYS_PATH) and field.head not in TEXTS


def is_where(field: Field, scene: Scene) -> bool:
    """Whether the field names the place that the tool works in: a repository, a project's folder, a database."""
    if "boolean" in str(field.node.get("type")) or not is_place(field, scene):
        return False
    if scene.repository is not None and names_repository(field, scene):
        return True
    return field.has("root", "cwd", "workspace", "project", "database", "db") and not field.has(*_OUTPUTS)


def place_aims(field: Field, scene: Scene) -> list[Aim]:
    """What a path field may hold: usually one existing thing; a new and an existing one where the tool would write."""
    return [replace(aim, exists=True) for aim in _place_aims(field, scene)]


def _place_aims(field: Field, scene: Scene) -> list[Aim]:
    repo = scene.repository
    if repo is not None and names_repository(field, scene):
        return repository_aims(field, scene, repo)
    if field.has("db", "database", "sqlite") or field.says(
        r"\b(sqlite|database) (file|path)|path to (the|a|an)? ?(sqlite )?database"
    ):
        return _databases(scene)
    if _is_folder(field, scene):
        return _folder_aims(field, scene)
    if repo is not None and any(
        other != field.name and names_repository(Field(other, "", "", (), {}), scene)
        for other in field.siblings
    ):
        return file_aims_in(field, scene, repo)
    return _file_aims(field, scene)


def text_file(scene: Scene, suffix: str = "") -> FileSample | None:
    """The text file that this set of values works on: the same for a path and for the text that occurs in it."""
    pool = [file for file in scene.surroundings.files if file.kind in _TEXTUAL and file.path.endswith(suffix)]
    plain = [file for file in pool if file.kind == "text" and file.line] or pool
    if not suffix and scene.surroundings.given in {file.path for file in pool} and scene.turn == 0:
        return next(file for file in pool if file.path == scene.surroundings.given)
    return plain[scene.turn % len(plain)] if plain else None


def _databases(scene: Scene) -> list[Aim]:
    known = [Aim(database.path, "an existing SQLite database") for database in scene.surroundings.databases]
    given = scene.surroundings.given
    if not known and given:
        return [Aim(given, "the database given to the server")]
    return (
        known[scene.turn % len(known) :][:1]
        if known
        else _new_file(Field("database", "", "", (), {}), scene, "db")
    )


def _is_folder(field: Field, scene: Scene) -> bool:
    if field.has(*_FOLDERS) and field.head not in {"file", "filename", "filepath"}:
        return True
    if field.has("file", "filename", "filepath", "image", "picture"):
        return False
    if field.says(r"\b(directory|folder)\b") and not field.says(r"\bfiles?\b"):
        return True
    if (
        scene.intent is Intent.SEARCH
        and field.words == ("path",)
        and field.beside("pattern", "query", "text", "regex")
    ):
        return True
    return scene.on_folders or (scene.intent is Intent.LIST and not field.says(r"\bfile\b"))


def _folder_aims(field: Field, scene: Scene) -> list[Aim]:
    here = scene.surroundings
    new = Aim(_shape(f"{here.workspace}/{scene.fresh(field)}", field, scene), "a new folder")
    existing = _existing_folders(scene)
    if _is_output(field, scene) and not field.has("root", "cwd", "workspace", "project"):
        return [new, Aim(_shape(existing[0], field, scene), "an existing folder", "existing folder")]
    if scene.intent is Intent.DELETE:
        full = [
            folder for folder in existing if any(file.path.startswith(folder + "/") for file in here.files)
        ]
        empty = [folder for folder in existing if folder not in full]
        aims = [Aim(_shape(folder, field, scene), "an empty folder") for folder in empty[:1]]
        return aims + [
            Aim(_shape(folder, field, scene), "a folder with files", "folder with files")
            for folder in full[:1]
        ]
    if scene.intent in {Intent.MOVE, Intent.COPY} or scene.turn:
        return [Aim(_shape(existing[0], field, scene), "an existing folder")]
    return [Aim(_shape(here.workspace, field, scene), "the workspace")]


def _existing_folders(scene: Scene) -> list[str]:
    here = scene.surroundings
    repositories = tuple(repo.path for repo in here.repositories)
    inner = [
        path
        for path in here.folders
        if path != here.workspace and not path.startswith(repositories or ("\0",))
    ]
    return inner[scene.turn % len(inner) :] + inner[: scene.turn % len(inner)] if inner else [here.workspace]


def _is_output(field: Field, scene: Scene) -> bool:
    if field.has(*_SOURCES) or _takes_in(field, scene):
        return False
    if field.has(*_OUTPUTS) or field.says(
        r"\b(save|write|export|output|store|saved|written)\b.{0,30}\b(to|file|path|into)\b"
    ):
        return True
    return scene.intent in {Intent.CREATE, Intent.WRITE} and not field.beside("output", "destination", "dest")


def _takes_in(field: Field, scene: Scene) -> bool:
    """Whether the tool brings an existing file somewhere (an upload), although its verb sounds like making one."""
    words = set(words_of(scene.tool.name))
    return bool(words & _TAKERS) or (
        bool(words & {"insert", "add"}) and field.has("image", "picture", "photo")
    )


def _suffix(field: Field, scene: Scene) -> str:
    """The file name extension that the tool asks for, or ""."""
    if field.has("image", "picture", "photo", "icon"):
        return ""
    for text in (field.description, scene.tool.description[:600]):
        for found in re.finditer(r"(?<![\w./*])\*?\.([a-z]{2,6})\b", text):
            if found[1] in _EXTENSIONS:
                return str(found[1])
    spread = ("spreadsheet",) if field.beside("sheet", "worksheet", "workbook") else ()
    for word in (*field.words, *spread, *singulars(words_of(scene.tool.name))):
        if word in _EXTENSIONS or word in _BY_WORD:
            return _BY_WORD.get(word) or str(word)
    return ""


def _file_aims(field: Field, scene: Scene) -> list[Aim]:
    suffix = _suffix(field, scene)
    output = _is_output(field, scene)
    # What is moved or copied must not land on itself.
    apart = 1 if output and scene.intent in {Intent.MOVE, Intent.COPY} else 0
    existing = _existing_file(field, scene.with_(turn=scene.turn + apart), suffix)
    if output:
        new = _new_file(
            field, scene, suffix or ("png" if scene.on_images and field.has("image", "picture") else "txt")
        )
        if existing is None:
            return new
        found = _shape(existing.path, field, scene)
        if field.beside(*_PARTS):
            # What names a part of a file works on a file that has parts.
            return [Aim(found, f"an existing {existing.kind} file"), replace(new[0], tag="new file")]
        return [*new, Aim(found, f"an existing {existing.kind} file", "existing file")]
    if existing is None:
        told = scene.learned.values_for(field.name, field.node, "file path")
        fitting = [value for value in told if isinstance(value, str) and value.endswith(f".{suffix}")]
        if fitting:
            return [
                Aim(value, "a path learned from an earlier call")
                for value in fitting[scene.turn % len(fitting) :][:1]
            ]
        return _new_file(field, scene, suffix)
    return [Aim(_shape(existing.path, field, scene), f"an existing {existing.kind} file")]


def _existing_file(field: Field, scene: Scene, suffix: str) -> FileSample | None:
    files = scene.surroundings.files
    kinds: Sequence[str] = ()
    if suffix:
        pool = [file for file in files if file.path.endswith(f".{suffix}")]
        return pool[scene.turn % len(pool)] if pool else None
    if field.has("image", "picture", "photo", "icon", "media") or (scene.on_images and not field.has("text")):
        kinds = ("image",)
    elif {"csv", "json", "yaml", "markdown", "code"} & set(field.words):
        kinds = tuple({"csv", "json", "yaml", "markdown", "code"} & set(field.words))
    if kinds:
        pool = [file for file in files if file.kind in kinds]
        # A PNG is taken by more readers than a JPEG.
        pool.sort(key=lambda file: not file.path.endswith(".png"))
        return pool[scene.turn % len(pool)] if pool else None
    top = scene.surroundings.workspace
    near = [file for file in files if file.kind in _TEXTUAL and file.path.rpartition("/")[0] == top]
    # A bare name is looked for in the folder that the server runs in.
    return near[scene.turn % len(near)] if _is_bare(field) and near else text_file(scene)


def _is_bare(field: Field) -> bool:
    """Whether a file is named without the folder that it is in."""
    return field.words in {("filename",), ("file", "name"), ("name",)} and not field.says(r"\bpath\b")


def _new_file(field: Field, scene: Scene, suffix: str) -> list[Aim]:
    path = f"{scene.surroundings.workspace}/{scene.fresh(field, f'.{suffix}' if suffix else '')}"
    return [Aim(_shape(path, field, scene), "a new file")]


def _shape(path: str, field: Field, scene: Scene) -> str:
    """The path as the description wants it: absolute, relative to the workspace, or a bare name."""
    workspace = scene.surroundings.workspace
    relative = field.has("relative", "rel") or (
        field.says(r"\brelative\b") and not field.says(r"\babsolute\b")
    )
    if relative:
        return path.removeprefix(workspace).lstrip("/") or "."
    if _is_bare(field):
        # What lies deeper than the folder that the server runs in needs its whole path.
        folder, _, name = path.rpartition("/")
        return name if folder == workspace else path
    return path
