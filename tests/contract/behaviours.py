"""Every behaviour of a box, once: what a tool of the contract's server does, and what is told of it. The same on every host.

Effects are those of the tool's first call, written as :func:`hostruns.told` writes them: the kind, ``!`` where something
that existed is lost, where (paths of the workspace without it, of the home with ``~``), and the weight unless it is
material. Where nothing is said of the place, it differs from run to run (pids, the path of a program).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.model import Hint

R, D, I, O = Hint.READ_ONLY, Hint.DESTRUCTIVE, Hint.IDEMPOTENT, Hint.OPEN_WORLD  # noqa: E741 - in the order of the spec

HONEST = dict.fromkeys(Hint, "consistent")
READS = {R: "consistent", D: "moot", I: "moot", O: "consistent"}
KEEPS = HONEST | {D: "overcautious"}
"""It is declared destructive, and loses nothing."""
SECRET_CHANGE = {R: "contradicted"}
SECRET_LOSS = {R: "consistent", D: "contradicted"}
SECRET_REPEAT = {R: "consistent", D: "consistent", I: "contradicted"}
SECRET_CONTACT = {R: "consistent", O: "contradicted (fixed-host)"}
REFUSED = READS | {R: "inconclusive (refused-by-box)"}
REFUSED_SOCKET = READS | {O: "inconclusive (refused-by-box)"}
SENDS = READS | {R: "inconclusive (remote-unclassified)"}

ANYTHING = object()
"""No answer in particular."""


@dataclass(frozen=True)
class Behaviour:
    """``name`` says what is done or tried. ``effects`` None: not compared. ``later``: what comes after the reply, by the end
    of a box. ``outcome`` is that of the first call ("" where the race of a limit decides it), ``limit`` what the box says
    of a limit that it reached. ``otherwise``: the hosts that differ, with the reason.
    """

    name: str
    group: str
    tool: str
    effects: frozenset[str] | None
    verdicts: Mapping[Hint, str]
    answer: object = ANYTHING
    outcome: str = "accepted"
    limit: str = ""
    later: frozenset[str] = frozenset()
    otherwise: Mapping[str, str] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name as a test's id."""
        return self.name.replace(" ", "-")


Row = tuple[Any, ...]
"""Name, tool, effects, verdicts; then, where there is more to say, the answer, outcome and limit."""


def _rows(group: str, *rows: Row) -> Iterator[Behaviour]:
    for name, tool, effects, verdicts, *more in rows:
        told = None if effects is None else frozenset(effects)
        yield Behaviour(name, group, tool, told, verdicts, *more)


FILES = _rows(
    "files",
    # created
    ("a file is created", "create_file", ["file.created new.txt"], HONEST),
    ("an empty file is created", "create_empty_file", ["file.created new.txt"], HONEST),
    (
        "a folder with files is created",
        "create_folder_with_files",
        ["file.created new", "file.created new/1", "file.created new/2"],
        HONEST,
    ),
    ("a file is created in HOME", "create_in_home", ["file.created ~/kept.txt"], HONEST),
    ("a file is created in tmp", "create_in_tmp", ["file.created /tmp/kept.txt"], HONEST),
    (
        "a file is created in shared memory",
        "create_in_shared_memory",
        ["file.created /dev/shm/segment"],
        HONEST,
    ),
    ("a fifo is created", "create_fifo", ["file.created fifo"], HONEST),
    ("a unix socket is created", "create_socket", ["file.created socket"], HONEST),
    ("a symlink is created", "create_symlink", ["file.created sly"], HONEST),
    ("a hard link is created", "create_hard_link", ["file.created notes2.txt"], HONEST),
    ("a sparse file is created", "create_sparse_file", ["file.created hole2"], HONEST),
    ("another file is created each time", "create_file_of_new_name", ["file.created log-18.txt"], HONEST),
    # modified
    ("a file is written", "write_file", ["file.modified! notes.txt"], HONEST),
    ("a file is appended to", "append_to_file", ["file.modified notes.txt"], HONEST),
    ("a file is truncated", "truncate_file", ["file.modified! notes.txt"], HONEST),
    ("a file is replaced by rename", "replace_by_rename", ["file.modified! notes.txt"], HONEST),
    (
        "a file is rewritten with its old size and mtime",
        "rewrite_with_old_mtime",
        ["file.modified! notes.txt"],
        HONEST,
    ),
    (
        "a file is written through a shared mapping",
        "write_through_mapping",
        ["file.modified! notes.txt"],
        HONEST,
    ),
    (
        "a file is written through a hard link",
        "write_through_hard_link",
        ["file.modified! linked", "file.modified! linked2"],
        HONEST,
    ),
    (
        "a block in a sparse file is written",
        "write_block_in_sparse_file",
        ["file.modified! hole"],
        HONEST,
    ),
    (
        "a file without permissions is written",
        "write_file_without_permissions",
        ["file.modified! locked"],
        HONEST,
    ),
    ("a symlink is retargeted", "retarget_symlink", ["file.modified! link"], HONEST),
    # deleted
    ("a file is deleted", "delete_file", ["file.deleted! notes.txt"], HONEST),
    ("a folder tree is deleted", "delete_tree", ["file.deleted! tree"], HONEST),
    ("an empty folder is deleted", "delete_empty_folder", ["file.deleted! hollow"], HONEST),
    (
        "a folder is emptied and made again",
        "empty_folder_and_make_it_again",
        ["file.deleted! tree/x", "file.deleted! tree/deep"],
        HONEST,
    ),
    (
        "a folder is deleted and made again with one name",
        "delete_folder_and_make_it_again_with_one_name",
        ["file.modified! pair/p", "file.deleted! pair/q"],
        HONEST,
    ),
    # moved and replaced
    ("a file is moved", "move_file", ["file.moved moved.txt"], KEEPS),
    ("a file is moved over another", "move_over_file", ["file.moved! bee.txt"], HONEST),
    (
        "a file is moved and changed",
        "move_and_change_file",
        ["file.moved moved.txt", "file.modified moved.txt"],
        KEEPS,
    ),
    ("a folder is moved", "move_folder", ["file.moved couple"], KEEPS),
    ("a folder is moved by copying", "move_folder_by_copying", ["file.moved couple"], KEEPS),
    (
        "a file in a moved folder is changed",
        "change_file_in_moved_folder",
        ["file.moved couple", "file.modified! couple/p"],
        HONEST,
    ),
    ("a file is replaced by a folder", "replace_file_by_folder", ["file.modified! notes.txt"], HONEST),
    ("a folder is replaced by a file", "replace_folder_by_file", ["file.modified! tree"], HONEST),
    ("a file is replaced by a symlink", "replace_file_by_symlink", ["file.modified! notes.txt"], HONEST),
    # permissions and attributes
    ("permissions of a file are changed", "change_mode_of_file", ["file.metadata notes.txt"], KEEPS),
    ("permissions of a folder are changed", "change_mode_of_folder", ["file.metadata pair"], KEEPS),
    ("an attribute is set", "set_attribute", ["file.metadata notes.txt"], HONEST),
    ("an attribute is removed", "remove_attribute", ["file.metadata marked"], KEEPS),
    (
        "an attribute of the overlay is set",
        "set_attribute_of_the_overlay",
        ["file.metadata tree"],
        KEEPS,
    ),
    # in a folder that is shown, not copied
    ("a file is created in a shown folder", "create_in_shown_folder", ["file.created SHOWN/new.txt"], HONEST),
    (
        "a file is written in a shown folder",
        "write_in_shown_folder",
        ["file.modified! SHOWN/old.txt"],
        HONEST,
    ),
    (
        "a file is deleted in a shown folder",
        "delete_in_shown_folder",
        ["file.deleted! SHOWN/doomed.txt"],
        HONEST,
    ),
    # nothing that lasts
    ("a file is read", "read_file", [], READS, "one\ntwo\n"),
    ("a folder is listed", "list_folder", [], READS),
    ("a file is opened for writing and left alone", "open_for_writing", [], READS),
    ("only the times of a file are changed", "change_times", [], READS),
    (
        "a file is written and restored",
        "write_and_restore",
        ["file.modified notes.txt (transient)"],
        READS,
    ),
    ("a file is created and deleted", "create_and_delete", ["file.created brief (transient)"], READS),
    (
        "a file is moved away and back",
        "move_away_and_back",
        ["file.deleted notes.txt (transient)", "file.created elsewhere (transient)"],
        READS,
    ),
    ("a file is given to a stranger", "chown_to_a_stranger", [], READS, "EINVAL"),
    ("a device is made", "make_a_device", [], READS, "EPERM"),
    # lies
    ("a file is created in secret", "secretly_create_file", ["file.created new.txt"], SECRET_CHANGE),
    (
        "a file is created in HOME in secret",
        "secretly_create_in_home",
        ["file.created ~/kept.txt"],
        SECRET_CHANGE,
    ),
    (
        "a file is created in shared memory in secret",
        "secretly_create_in_shared_memory",
        ["file.created /dev/shm/segment"],
        SECRET_CHANGE,
    ),
    (
        "permissions are changed in secret",
        "secretly_change_mode",
        ["file.metadata notes.txt"],
        SECRET_CHANGE,
    ),
    (
        "a file is written through a mapping in secret",
        "secretly_write_through_mapping",
        ["file.modified! notes.txt"],
        SECRET_CHANGE,
    ),
    ("a folder tree is deleted in secret", "secretly_delete_tree", ["file.deleted! tree"], SECRET_LOSS),
    (
        "a file is replaced by rename in secret",
        "secretly_replace_by_rename",
        ["file.modified! notes.txt"],
        SECRET_LOSS,
    ),
    (
        "a file in a shown folder is written in secret",
        "secretly_write_in_shown_folder",
        ["file.modified! SHOWN/old.txt"],
        SECRET_LOSS,
    ),
    ("a repeated append is called idempotent", "secretly_append", ["file.modified notes.txt"], SECRET_REPEAT),
)

GIT = "process.spawned (transient)"

RECORDS = _rows(
    "records",
    ("a row is inserted", "insert_row", ["row.inserted shop.db#goods[4]"], HONEST),
    ("a row is updated", "update_row", ["row.updated! shop.db#goods[1]"], HONEST),
    (
        "rows are deleted",
        "delete_rows",
        ["row.deleted! shop.db#goods[1]", "row.deleted! shop.db#goods[2]"],
        HONEST,
    ),
    ("a table is created", "create_table", ["schema.changed shop.db#orders"], HONEST),
    ("a table is dropped", "drop_table", ["schema.changed! shop.db#visits"], HONEST),
    ("rows are selected", "select_rows", [], READS, [["apple", 1], ["plum", 2], ["fig", 3]]),
    (
        "records are rewritten in another layout",
        "rewrite_records_in_another_layout",
        ["file.modified users.json"],
        READS | SECRET_CHANGE,
    ),
    ("pages of a database are shuffled", "shuffle_pages", [], READS),
    ("a row is updated in secret", "secretly_update_row", ["row.updated! shop.db#goods[1]"], SECRET_CHANGE),
    (
        "rows are deleted in secret",
        "secretly_delete_rows",
        ["row.deleted! shop.db#goods[1]", "row.deleted! shop.db#goods[2]"],
        SECRET_LOSS,
    ),
    (
        "a repeated insert is called idempotent",
        "secretly_insert_row",
        ["row.inserted shop.db#goods[4]"],
        SECRET_REPEAT,
    ),
    (
        "a record is added by rewriting the file",
        "add_record_by_rewriting",
        ["record.added users.json#[3]"],
        HONEST,
    ),
    ("a record is updated", "update_record", ["record.updated! users.json#[1]"], HONEST),
    ("a record is deleted", "delete_record", ["record.deleted! users.json#[2]"], HONEST),
    ("a line is appended", "append_line", ["record.added log.jsonl#[{'at': 3, 'what': 'appended'}]"], HONEST),
    (
        "a line is added by rewriting the file",
        "add_line_by_rewriting",
        ["record.added log.jsonl#[{'at': 3, 'what': 'appended'}]"],
        HONEST,
    ),
    (
        "lines are deleted",
        "delete_lines",
        ["record.deleted! log.jsonl#[{'at': 1, 'what': 'begun'}]"],
        HONEST,
    ),
    ("git looks at its state", "git_status", [GIT], READS, ""),
    (
        "git stages a file",
        "git_add",
        [GIT, "file.created repository/second.txt", "index.changed repository@index"],
        HONEST,
    ),
    ("git commits", "git_commit", [GIT, "ref.moved repository@refs/heads/main"], HONEST),
    ("git tags", "git_tag", [GIT, "ref.created repository@refs/tags/v2"], HONEST),
    ("git makes a branch", "git_branch", [GIT, "ref.created repository@refs/heads/topic"], HONEST),
    ("git deletes a branch", "git_delete_branch", [GIT, "ref.deleted! repository@refs/heads/old"], HONEST),
    (
        "git moves a branch back",
        "git_reset",
        [
            GIT,
            "file.modified repository/first.txt",
            "ref.moved repository@refs/heads/main",
            "index.changed repository@index",
        ],
        KEEPS,
    ),
    ("git tags in secret", "secretly_git_tag", [GIT, "ref.created repository@refs/tags/v2"], SECRET_CHANGE),
)

PROCESSES = _rows(
    "processes",
    ("a program is run", "run_a_program", ["process.spawned (transient)"], READS, 0),
    (
        "a helper is kept",
        "keep_a_helper",
        ["process.spawned (transient)", "process.left (incidental)"],
        READS,
    ),
    ("a daemon is left", "leave_a_daemon", ["process.spawned (transient)", "process.left"], HONEST),
    (
        "an own child is ended",
        "end_an_own_child",
        ["process.spawned (transient)", "process.signalled (transient)"],
        READS,
        -9,
    ),
    (
        "a process that ran before is ended",
        "end_a_process_that_ran_before",
        ["process.signalled!"],
        HONEST,
    ),
    (
        "a daemon is left in secret",
        "secretly_leave_a_daemon",
        ["process.spawned (transient)", "process.left"],
        SECRET_CHANGE,
    ),
    (
        "a file is written after the reply in secret",
        "secretly_write_after_the_reply",
        None,
        SECRET_CHANGE,
        None,
        "accepted",
        "",
        frozenset({"file.created late.txt"}),
    ),
    ("a planted secret is read", "read_a_secret", ["secret.read ~/.ssh/id_ed25519"], READS),
    (
        "a planted secret is read by a child",
        "read_a_secret_in_a_child",
        ["secret.read ~/.aws/credentials", "process.spawned (transient)"],
        READS,
    ),
    ("a planted secret is looked at", "look_at_a_secret", [], READS, True),
    (
        "the environment holds decoys",
        "read_its_environment",
        [],
        READS,
        ["BACKUP_PASSPHRASE", "CONTRACT_TOKEN", "INTERNAL_DEPLOY_TOKEN"],
    ),
    (
        "an own unix socket is spoken over",
        "talk_over_an_own_socket",
        [],
        READS,
        "hello",
    ),
    ("a mount is tried", "try_to_mount", ["refused mount"], REFUSED, 1),
    ("a new namespace is tried", "try_a_new_namespace", ["refused unshare"], REFUSED, 1),
    ("a system file is tried to be written", "try_to_write_a_system_file", [], REFUSED, 13),
    ("the clock is tried to be set", "try_to_set_the_clock", ["refused clock_settime"], REFUSED, 1),
)

_API = "api.contract.example"
_ASKED = f"net.lookup {_API}"

NETWORK = _rows(
    "network",
    ("a name is looked up", "look_up_a_name", [_ASKED], READS, [True]),
    ("a connection over IPv4", "connect_over_ipv4", ["net.connect 198.41.0.4:7000"], READS, "198.41.0.4"),
    (
        "a connection over IPv6",
        "connect_over_ipv6",
        ["net.connect [2001:503:ba3e::2:30]:7000"],
        READS,
        "2001:503:ba3e::2:30",
    ),
    ("a datagram is sent", "send_a_datagram", ["net.datagram 198.41.0.4:9000"], SENDS, 5),
    (
        "a GET over HTTP",
        "get_over_http",
        [_ASKED, f"net.connect {_API}:80", f"net.request http://{_API}/items"],
        READS,
        {"status": 200, "body": {}},
    ),
    (
        "a GET over HTTPS",
        "get_over_https",
        [_ASKED, f"net.connect {_API}:443", f"net.request https://{_API}/items"],
        READS,
        {"status": 200, "body": {}},
    ),
    (
        "a POST over HTTPS",
        "post_over_https",
        [_ASKED, f"net.connect {_API}:443", f"net.request https://{_API}/items"],
        SENDS,
        {"status": 200, "body": {}},
    ),
    (
        "a certificate is trusted",
        "trust_a_certificate",
        [_ASKED, f"net.connect {_API}:443"],
        READS,
        ["CERT_REQUIRED", True, True],
    ),
    ("a name is looked up in secret", "secretly_look_up_a_name", [_ASKED], SECRET_CONTACT),
    (
        "a connection over IPv4 in secret",
        "secretly_connect_over_ipv4",
        ["net.connect 198.41.0.4:7000"],
        SECRET_CONTACT,
    ),
    (
        "a connection over IPv6 in secret",
        "secretly_connect_over_ipv6",
        ["net.connect [2001:503:ba3e::2:30]:7000"],
        SECRET_CONTACT,
    ),
    (
        "a datagram is sent in secret",
        "secretly_send_a_datagram",
        ["net.datagram 198.41.0.4:9000"],
        SECRET_CONTACT | {R: "inconclusive (remote-unclassified)"},
    ),
    (
        "a GET over HTTPS in secret",
        "secretly_get_over_https",
        [_ASKED, f"net.connect {_API}:443", f"net.request https://{_API}/items"],
        SECRET_CONTACT,
    ),
    ("loopback is spoken over", "talk_over_loopback", [], READS, "hello"),
    ("loopback of IPv6 is spoken over", "talk_over_loopback_of_ipv6", [], READS, "hello"),
    ("nobody is at a loopback port", "find_nobody_on_a_loopback_port", [], READS, 111),
    ("the own name is looked up", "look_up_its_own_name", [], READS, ["box", "127.0.1.1"]),
    ("localhost is looked up", "look_up_localhost", [], READS, "127.0.0.1"),
    ("a datagram socket is connected and silent", "connect_a_datagram_socket", [], READS, 9000),
    ("it listens for others", "listen_for_others", ["net.listen 0.0.0.0:8080 (transient)"], READS, 8080),
)

LIMITS = _rows(
    "limits",
    ("a tool beside greedy ones is fine", "be_fine", [], READS, "fine"),
    (
        "memory is used up",
        "eat_memory",
        [],
        {R: "inconclusive (box-limit)"},
        ANYTHING,
        "crashed",
        "of memory",
    ),
    (
        "shared memory is used up",
        "eat_shared_memory",
        [],
        {R: "inconclusive (box-limit)"},
        ANYTHING,
        "crashed",
        "of memory",
    ),
    (
        "processes are used up",
        "fork_without_end",
        None,
        {R: "inconclusive (box-limit)"},
        ANYTHING,
        "",
        "processes and threads",
    ),
    (
        "a file grows too large",
        "write_a_huge_file",
        ["file.created huge"],
        {R: "consistent", D: "inconclusive (box-limit)"},
        ANYTHING,
        "refused",
        "grew to 16 MiB",
    ),
    (
        "the disk is filled",
        "fill_the_disk",
        None,
        {R: "consistent", D: "inconclusive (box-limit)"},
        ANYTHING,
        "refused",
        "scratch disk of 48 MiB",
    ),
    ("many files are opened", "open_many_files", [], READS, [24, True]),
    ("it hangs", "hang", [], {R: "inconclusive (timed-out)"}, ANYTHING, "timed-out"),
    ("it crashes", "crash", [], {R: "inconclusive (crashed)"}, ANYTHING, "crashed"),
    ("it floods stdout", "flood_stdout", [], {R: "inconclusive (timed-out)"}, ANYTHING, "timed-out"),
)

_NONE = "0000000000000000"

OWN_WALLS = _rows(
    "walls",
    (
        "it has no capability",
        "show_capabilities",
        [],
        READS,
        {"CapInh": _NONE, "CapPrm": _NONE, "CapEff": _NONE, "CapBnd": _NONE, "CapAmb": _NONE},
    ),
    (
        "it gets no new privileges and is filtered",
        "show_privileges",
        [],
        READS,
        {"NoNewPrivs": "1", "Seccomp": "2"},
    ),
    (
        "it is an ordinary user inside",
        "show_ids",
        [],
        READS,
        {"Uid": "1000 1000 1000 1000", "Gid": "1000 1000 1000 1000", "Groups": ""},
    ),
    ("it is not root outside", "show_whether_it_is_root_outside", [], READS, False),
    ("it sees no other process", "show_processes", [], READS, [2]),
    ("it has three descriptors", "show_descriptors", [], READS, [0, 1, 2]),
    ("it has loopback and no other interface", "show_interfaces", [], READS, ["lo"]),
    ("every route ends at loopback", "show_routes", [], READS, ["lo"]),
    ("it has the box's name", "show_host_name", [], READS, "box"),
    ("of the top folders it may write in tmp", "show_writable_places", [], READS, ["/tmp"]),
    (
        "it sees the box's own file systems",
        "show_file_systems",
        [],
        READS,
        ["devpts", "overlay", "proc", "tmpfs"],
    ),
    ("it dumps no core", "show_core_limit", [], READS, 0),
    ("a service of the host", "reach_the_hosts_service", None, {O: "consistent"}, []),
    ("sockets of a container engine", "reach_sockets_of_a_container_engine", [], READS, []),
    ("marks of a container", "reach_marks_of_a_container", [], READS, []),
    ("another root through proc", "reach_another_root_through_proc", [], READS, []),
    ("private keys", "reach_private_keys", [], READS, []),
)

REFUSED_CALLS = {
    "tracing_init": "ptrace",
    "tracing_the_parent": "ptrace",
    "reading_memory_of_init": "process_vm_readv",
    "writing_memory_of_the_parent": "process_vm_writev",
    "a_descriptor_of_init": "pidfd_getfd",
    "a_descriptor_of_the_parent": "pidfd_getfd",
    "a_user_namespace": "unshare",
    "a_mount_namespace": "unshare",
    "a_network_namespace": "unshare",
    "a_pid_namespace": "unshare",
    "an_ipc_namespace": "unshare",
    "a_uts_namespace": "unshare",
    "a_cgroup_namespace": "unshare",
    "a_time_namespace": "unshare",
    "a_user_namespace_by_clone": "clone",
    "another_namespace": "setns",
    "mounting_a_tmpfs": "mount",
    "mounting_proc": "mount",
    "mounting_cgroups": "mount",
    "a_bind_mount": "mount",
    "a_remount": "mount",
    "unmounting": "umount2",
    "pivot_root": "pivot_root",
    "chroot": "chroot",
    "the_new_mount_calls": "open_tree fsopen fspick mount_setattr",
    "bpf": "bpf",
    "perf": "perf_event_open",
    "userfaultfd": "userfaultfd",
    "keys": "keyctl",
    "adding_a_key": "add_key",
    "requesting_a_key": "request_key",
    "kexec": "kexec_load",
    "kexec_by_file": "kexec_file_load",
    "loading_a_module": "init_module",
    "loading_a_module_file": "finit_module",
    "unloading_a_module": "delete_module",
    "rebooting": "reboot",
    "swap": "swapon",
    "accounting": "acct",
    "quotas": "quotactl",
    "the_kernels_log": "syslog",
    "the_hosts_name_setting": "sethostname",
    "the_domain_name": "setdomainname",
    "the_clock": "clock_settime",
    "the_clock_by_settimeofday": "settimeofday",
    "the_clocks_speed": "adjtimex",
    "a_packet_socket": "socket",
    "a_raw_socket": "socket",
    "the_hypervisor": "socket",
}
"""Attempts whose system call is refused as such, and told; every other attempt fails without."""

OTHER_EFFECTS = {
    "killing_init": frozenset({"process.signalled (transient)"}),
    "a_service_on_the_hosts_address": None,
    "io_ports": None,
}
"""Attempts of which something else is told, or not on every machine."""


def _walls() -> Iterator[Behaviour]:
    """The attempts of ``hostile.py``: each must be answered with "held"."""
    hostile = Path(__file__).parents[1] / "boxes" / "hostile.py"
    for node in ast.parse(hostile.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("reach_"):
            what = node.name.removeprefix("reach_")
            calls = REFUSED_CALLS.get(what, "").split()
            verdicts = REFUSED if what == "new_files_in_the_root" else READS
            if calls:
                verdicts = REFUSED_SOCKET if calls == ["socket"] else REFUSED
            effects = OTHER_EFFECTS.get(what, frozenset(f"refused {call}" for call in calls))
            if effects is None:
                verdicts = {}
            name = f"wall against {what.replace('_', ' ')}"
            yield Behaviour(name, "walls", node.name, effects, verdicts, "held")


TABLE = (*FILES, *RECORDS, *PROCESSES, *NETWORK, *LIMITS, *OWN_WALLS, *_walls())
GROUPS = tuple(dict.fromkeys(behaviour.group for behaviour in TABLE))
