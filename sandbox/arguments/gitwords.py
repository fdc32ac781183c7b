"""Aims of git tools: the repository, files in it, branches, tags, remotes and revisions."""

from __future__ import annotations

from sandbox.arguments.intent import Intent
from sandbox.arguments.scene import Aim, Field, Scene
from sandbox.arguments.words import words_of
from sandbox.workspace import Repo

_BASES = frozenset({"base", "from", "source", "start", "parent", "into", "onto"})
_REVISIONS = frozenset(
    "revision rev ref upstream commit sha hash object target treeish oid base head from to contains".split()
)


def names_repository(field: Field, scene: Scene) -> bool:
    """Whether the field is the path of the repository that the tool works on."""
    if field.has("repo", "repository") or field.says(
        r"\bpath to the (local )?(git )?repo|\bgit (repository|working|repo)"
    ):
        return not field.has("url", "owner", "remote")
    gitlike = "git" in words_of(scene.tool.name) or scene.tool.description.lower().startswith("git ")
    plain = field.words in {
        ("path",),
        ("cwd",),
        ("directory",),
        ("dir",),
        ("project",),
        ("project", "path"),
        ("working", "directory"),
    }
    properties = scene.tool.input_schema.get("properties")
    has_other = isinstance(properties, dict) and any(
        "repo" in name.lower() for name in list(properties)[:200]
    )
    return gitlike and plain and not has_other and not field.item


def repository_aims(field: Field, scene: Scene, repo: Repo) -> list[Aim]:
    """The repository, or where a new one goes."""
    words = set(words_of(scene.tool.name))
    if words & {"init", "clone"}:
        path = f"{scene.surroundings.workspace}/{scene.fresh(field)}"
        return [Aim(path, "a new folder for a repository")]
    return [Aim(repo.path, "an existing git repository")]


def file_aims_in(field: Field, scene: Scene, repo: Repo) -> list[Aim]:
    """Files of the repository by their relative names: untracked ones to add, modified ones to restore."""
    words = set(words_of(scene.tool.name)) | set(words_of(scene.tool.description[:120]))
    if words & {"add", "staging", "clean"} or field.has("stage", "add"):
        pools = [("an untracked file", repo.untracked), ("a modified file", repo.modified)]
    elif words & {"restore", "discard", "checkout", "unstage", "diff"}:
        pools = [("a modified file", repo.modified), ("a tracked file", repo.tracked)]
    elif scene.intent in {Intent.CREATE, Intent.WRITE} and field.has("path", "file"):
        pools = [("a new file", (scene.fresh(field, ".txt"),)), ("a tracked file", repo.tracked)]
    else:
        pools = [("a tracked file", repo.tracked), ("a modified file", repo.modified)]
    aims = [
        Aim(names[0], f"{what} of the repository", "" if not index else what)
        for index, (what, names) in enumerate(pools)
        if names
    ]
    return aims or [Aim("README.md", "a usual file")]


def git_aims(field: Field, scene: Scene, repo: Repo) -> list[Aim]:
    """Branches, tags, remotes and revisions of the repository; none for fields that name something else."""
    words, tool = set(field.words), set(words_of(scene.tool.name))
    others = [branch for branch in repo.branches if branch != repo.head]
    if "branch" in words and field.head in {"branch", "name", "base", "target", "source"}:
        if scene.intent is Intent.CREATE and not words & _BASES:
            return [
                Aim(scene.fresh(field), "a new branch"),
                *(Aim(one, "an existing branch", "existing branch") for one in others[:1]),
            ]
        if words & _BASES and repo.head:
            return [Aim(repo.head, "the branch checked out")]
        made = scene.learned.values_for(field.name, field.node, "branch")
        others += [one for one in made if isinstance(one, str) and one not in (repo.head, *others)]
        pool = others or [repo.head or "main"]
        return [Aim(pool[scene.turn % len(pool)], "another existing branch")]
    if field.head == "tag" or words == {"tag", "name"}:
        if scene.intent is Intent.CREATE or not repo.tags:
            return [Aim(scene.fresh(field), "a new tag")]
        return [Aim(repo.tags[scene.turn % len(repo.tags)], "an existing tag")]
    if field.head == "remote":
        return [Aim(next(iter(repo.remotes), "origin"), "a remote of the repository")]
    if field.head in {"url", "uri"} and tool & {"clone", "remote"}:
        # Whatever lies on this machine is cloned without a network.
        return [Aim(f"file://{repo.path}", "an existing git repository")]
    if field.head in _REVISIONS or (
        field.says(r"\b(commit|revision|sha)\b") and not field.says(r"\bmessage\b|timestamp|date")
    ):
        if (
            field.head in {"target", "ref", "revision"}
            and tool & {"checkout", "switch", "merge", "rebase"}
            and others
        ):
            return [Aim(others[0], "another existing branch")]
        if field.has("sha", "hash", "oid") or field.says(r"\bsha\b|\bhash\b"):
            return [Aim(oid, "a commit of the repository") for oid in repo.commits[scene.turn :][:1]] or [
                Aim("HEAD", "the last commit")
            ]
        return [Aim(("HEAD", "HEAD~1")[scene.turn % 2], "a commit of the repository")]
    return []
