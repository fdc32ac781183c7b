"""Runs inside a box and tries everything that a server must not reach or do; standard library only.

Each function named ``reach_*`` is one attempt, made in a child of its own. It returns when the wall held and
raises ReachedError when it did not; an OSError is a wall too. The verdicts go to stdout as one JSON object:
name -> "" (held) or what was reached.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import json
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import sys
import time

HOST = json.loads(os.environ["HOST_FACTS"])
DESCRIPTORS = {
    name: os.readlink(f"/proc/self/fd/{name}")
    for name in os.listdir("/proc/self/fd")
    if os.path.exists(f"/proc/self/fd/{name}")
}
ATTEMPT_S = 10
PTRACE_SEIZE = 0x4206
X86 = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)

# Numbers for x86_64 and, behind it, the table that all newer architectures share.
NUMBERS = {
    "clone": (56, 220), "ptrace": (101, 117), "syslog": (103, 116), "capset": (126, 91), "pivot_root": (155, 41), "adjtimex": (159, 171),
    "settimeofday": (164, 170), "acct": (163, 89), "mount": (165, 40), "umount2": (166, 39), "swapon": (167, 224), "reboot": (169, 142),
    "sethostname": (170, 161), "setdomainname": (171, 162), "init_module": (175, 105), "delete_module": (176, 106), "quotactl": (179, 60),
    "clock_settime": (227, 112), "kexec_load": (246, 104), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "unshare": (272, 97), "perf_event_open": (298, 241), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "setns": (308, 268), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "finit_module": (313, 273),
    "kexec_file_load": (320, 294), "bpf": (321, 280), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fspick": (433, 433), "clone3": (435, 435),
    "pidfd_getfd": (438, 438), "mount_setattr": (442, 442), "memfd_secret": (447, 447),
}  # fmt: skip


class ReachedError(Exception):
    """A wall did not hold."""


def call(name: str, *arguments: object) -> int:
    """A raw system call; raises OSError."""
    packed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(NUMBERS[name][0 if X86 else 1]), *packed)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def must_fail(name: str, *arguments: object) -> None:
    """The call must be refused as such: any other error would mean that this attempt is malformed."""
    try:
        result = call(name, *arguments)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise AssertionError(f"{name} failed with {errno.errorcode[error.errno or 0]}") from error
        return
    raise ReachedError(f"{name} answered {result}")


def must_not_open(path: str, flags: int = os.O_RDONLY) -> None:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    raise ReachedError(
        f"{path} opened, and holds {os.read(descriptor, 64)!r}" if flags == os.O_RDONLY else f"{path} opened"
    )


def must_hold_only(path: str, allowed: list[str]) -> None:
    found = sorted(set(os.listdir(path)) - set(allowed))
    if found:
        raise ReachedError(f"{path} holds {found}")


# --- files ------------------------------------------------------------------------------------------


def reach_a_file_of_the_host() -> None:
    must_not_open(HOST["secret"])


def reach_the_folder_of_that_file() -> None:
    must_hold_only(os.path.dirname(HOST["secret"]), [])


def reach_the_certificate_key() -> None:
    must_not_open(HOST["key"])


def reach_other_homes() -> None:
    must_hold_only("/home", ["user", *HOST["exposed"].get("/home", [])])


def reach_roots_home() -> None:
    must_hold_only("/root", HOST["exposed"].get("/root", []))


def reach_the_hosts_tmp() -> None:
    must_hold_only("/tmp", HOST["exposed"].get("/tmp", []))


def reach_run() -> None:
    must_hold_only("/run", [])


def reach_var_lib() -> None:
    must_hold_only("/var/lib", [])


def reach_var_log() -> None:
    must_hold_only("/var/log", [])


def reach_opt_and_srv() -> None:
    must_hold_only("/opt", HOST["exposed"].get("/opt", []))
    must_hold_only("/srv", [])


def reach_shadow() -> None:
    must_not_open("/etc/shadow")


def reach_ssh_keys() -> None:
    must_hold_only("/etc/ssh", [])


def reach_the_hosts_accounts() -> None:
    with open("/etc/passwd") as accounts:
        names = [line.split(":")[0] for line in accounts]
    if names != ["root", "user", "nobody"]:
        raise ReachedError(str(names))


def reach_the_hosts_name() -> None:
    if socket.gethostname() != "box" or os.uname().nodename != "box":
        raise ReachedError(socket.gethostname())


def reach_paths_of_the_host_in_mountinfo() -> None:
    with open("/proc/self/mountinfo") as mounts:
        text = mounts.read()
    for path in HOST["hidden"]:
        if path in text:
            raise ReachedError(f"{path} in mountinfo")


def reach_sys() -> None:
    must_hold_only("/sys", [])


def reach_cgroups() -> None:
    must_hold_only("/sys/fs/cgroup", [])


def reach_cgroup_paths() -> None:
    with open("/proc/self/cgroup") as groups:
        for line in groups:
            if line.strip().split(":", 2)[2] != "/":
                raise ReachedError(line)


def reach_block_devices() -> None:
    found = [
        path
        for path in glob.glob("/dev/*")
        if os.path.exists(path) and (os.stat(path).st_mode & 0o170000) == 0o060000
    ]
    if found:
        raise ReachedError(str(found))


def reach_other_devices() -> None:
    must_hold_only(
        "/dev",
        [
            "null",
            "zero",
            "full",
            "random",
            "urandom",
            "tty",
            "shm",
            "pts",
            "ptmx",
            "fd",
            "stdin",
            "stdout",
            "stderr",
        ],
    )


def reach_physical_memory() -> None:
    must_not_open("/dev/mem")


def reach_a_new_character_device() -> None:
    os.mknod("/tmp/mem", 0o20666, os.makedev(1, 1))
    must_not_open("/tmp/mem")


def reach_a_new_block_device() -> None:
    for major in (8, 253, 254, 259):
        os.mknod(f"/tmp/disk{major}", 0o60666, os.makedev(major, 0))
        must_not_open(f"/tmp/disk{major}")


def reach_writing_dev() -> None:
    must_not_open("/dev/hidden", os.O_WRONLY | os.O_CREAT)


def reach_the_terminal() -> None:
    must_not_open("/dev/tty")


def reach_an_old_root_behind_dotdot() -> None:
    descriptor = os.open("/", os.O_RDONLY)
    for _ in range(64):
        descriptor = os.open("..", os.O_RDONLY, dir_fd=descriptor)
    if os.fstat(descriptor).st_ino != os.stat("/").st_ino:
        raise ReachedError(str(os.listdir(descriptor)))


def reach_a_file_by_handle() -> None:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount_id = ctypes.c_int()
    call("name_to_handle_at", -100, b"/etc/passwd", handle, ctypes.byref(mount_id), 0)
    folder = os.open("/", os.O_RDONLY)
    must_fail("open_by_handle_at", folder, handle, 0)


# --- processes --------------------------------------------------------------------------------------


def reach_the_hosts_process() -> None:
    must_hold_only(f"/proc/{HOST['victim']}", [])


def reach_other_processes() -> None:
    ours = {str(os.getpid()), str(os.getppid())}
    found = [name for name in os.listdir("/proc") if name.isdigit() and name not in ours]
    if found:
        raise ReachedError(str(found))


def reach_the_environment_of_init() -> None:
    must_not_open("/proc/1/environ")


def reach_the_memory_of_init() -> None:
    must_not_open("/proc/1/mem")


def reach_the_descriptors_of_init() -> None:
    raise ReachedError(str(os.listdir("/proc/1/fd")))


def reach_the_root_of_init() -> None:
    raise ReachedError(str(os.listdir("/proc/1/root")))


def reach_the_command_line_of_init() -> None:
    must_not_open("/proc/1/cmdline")


def reach_a_signal_to_the_host() -> None:
    os.kill(HOST["victim"], 0)
    raise ReachedError("the host's process can be signalled")


def reach_killing_init() -> None:
    for number in (
        signal.SIGKILL,
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGSTOP,
        signal.SIGCHLD,
        signal.SIGSEGV,
        signal.SIGHUP,
    ):
        try:
            os.kill(1, number)
        except PermissionError:
            continue
    time.sleep(0.05)  # the verdict never comes when this reached something


def reach_tracing_init() -> None:
    must_fail("ptrace", PTRACE_SEIZE, 1, None, None)


def reach_tracing_the_parent() -> None:
    must_fail("ptrace", PTRACE_SEIZE, os.getppid(), None, None)


def reach_reading_memory_of_init() -> None:
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(buffer), 8)
    remote = struct.pack("QQ", id(buffer), 8)
    must_fail("process_vm_readv", 1, local, 1, remote, 1, 0)


def reach_writing_memory_of_the_parent() -> None:
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 8)
    must_fail("process_vm_writev", os.getppid(), vector, 1, vector, 1, 0)


def reach_a_descriptor_of_init() -> None:
    must_fail("pidfd_getfd", os.pidfd_open(1), 3, 0)


def reach_a_descriptor_of_the_parent() -> None:
    must_fail("pidfd_getfd", os.pidfd_open(os.getppid()), 0, 0)


def reach_inherited_descriptors() -> None:
    listing = max(DESCRIPTORS, key=int)
    extra = {name: target for name, target in DESCRIPTORS.items() if name not in ("0", "1", "2", listing)}
    if extra:
        raise ReachedError(str(extra))
    if not all(DESCRIPTORS[name].startswith("pipe:") for name in ("0", "1", "2")):
        raise ReachedError(str(DESCRIPTORS))


def reach_the_environment_of_the_host() -> None:
    with open("/proc/self/environ") as environment:
        text = environment.read()
    names = {entry.partition("=")[0] for entry in text.split("\0") if entry}
    extra = names - {"USER", "LOGNAME", "SHELL", "PATH", "LANG", "HOME", "HOST_FACTS", *HOST["environment"]}
    if extra or HOST["marker"] in text.replace(os.environ["HOST_FACTS"], ""):
        raise ReachedError(str(extra))


# --- powers -----------------------------------------------------------------------------------------


def reach_any_capability() -> None:
    with open("/proc/self/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(fields[name], 16):
            raise ReachedError(f"{name} is {fields[name].strip()}")
    if fields["NoNewPrivs"].strip() != "1" or fields["Seccomp"].strip() != "2":
        raise ReachedError("no_new_privs or the filter is missing")
    if {*os.getresuid(), *os.getresgid()} != {HOST["user"]}:
        raise ReachedError(f"ids are {os.getresuid()} {os.getresgid()}")


def reach_raising_capabilities() -> None:
    header = struct.pack("II", 0x20080522, 0)
    everything = struct.pack("6I", *[0xFFFFFFFF] * 6)
    must_fail("capset", header, everything)


def reach_user_zero() -> None:
    os.setuid(0)
    raise ReachedError("setuid(0)")


def reach_group_zero() -> None:
    os.setgid(0)
    raise ReachedError("setgid(0)")


def reach_other_groups() -> None:
    os.setgroups([0, 4, 27])
    raise ReachedError("setgroups")


def reach_setuid_programs() -> None:
    if not os.statvfs("/usr").f_flag & os.ST_NOSUID or not os.statvfs("/").f_flag & os.ST_NOSUID:
        raise ReachedError("a mount without nosuid")


def reach_secure_bits() -> None:
    if libc.prctl(28, ctypes.c_ulong(0x2F), 0, 0, 0) == 0:
        raise ReachedError("PR_SET_SECUREBITS")


def reach_a_higher_priority() -> None:
    os.nice(-5)
    raise ReachedError("nice(-5)")


def reach_real_time_scheduling() -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    raise ReachedError("SCHED_FIFO")


def reach_a_higher_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft + 1, hard + 1))
    except ValueError:
        return
    raise ReachedError("RLIMIT_NPROC raised")


def reach_core_dumps() -> None:
    if resource.getrlimit(resource.RLIMIT_CORE) != (0, 0):
        raise ReachedError("core dumps")


def reach_outliving_others_when_memory_ends() -> None:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("-1000")
    raise ReachedError("oom_score_adj")


# --- namespaces and mounts --------------------------------------------------------------------------


def reach_a_user_namespace() -> None:
    must_fail("unshare", 0x10000000)


def reach_a_mount_namespace() -> None:
    must_fail("unshare", 0x00020000)


def reach_a_network_namespace() -> None:
    must_fail("unshare", 0x40000000)


def reach_a_pid_namespace() -> None:
    must_fail("unshare", 0x20000000)


def reach_an_ipc_namespace() -> None:
    must_fail("unshare", 0x08000000)


def reach_a_uts_namespace() -> None:
    must_fail("unshare", 0x04000000)


def reach_a_cgroup_namespace() -> None:
    must_fail("unshare", 0x02000000)


def reach_a_time_namespace() -> None:
    must_fail("unshare", 0x80)


def reach_a_user_namespace_by_clone() -> None:
    result = call("clone", 0x10000000 | signal.SIGCHLD, None, None, None, None)
    if result == 0:
        os._exit(0)
    raise ReachedError("clone(CLONE_NEWUSER)")


def reach_a_user_namespace_by_clone3() -> None:
    arguments = struct.pack("11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    result = call("clone3", arguments, len(arguments))
    if result == 0:
        os._exit(0)
    raise ReachedError("clone3(CLONE_NEWUSER)")


def reach_more_user_namespaces() -> None:
    with open("/proc/sys/user/max_user_namespaces", "r+") as setting:
        setting.write("100")
    raise ReachedError("max_user_namespaces")


def reach_another_namespace() -> None:
    must_fail("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)


def reach_the_namespaces_of_init() -> None:
    must_not_open("/proc/1/ns/mnt")


def reach_mounting_a_tmpfs() -> None:
    must_fail("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, None)


def reach_mounting_proc() -> None:
    must_fail("mount", b"proc", b"/tmp", b"proc", 0, None)


def reach_mounting_cgroups() -> None:
    must_fail("mount", b"cgroup2", b"/tmp", b"cgroup2", 0, None)


def reach_a_bind_mount() -> None:
    must_fail("mount", b"/usr", b"/tmp", None, 4096, None)


def reach_a_remount() -> None:
    must_fail("mount", None, b"/proc/sys", None, 32 | 4096, None)


def reach_unmounting() -> None:
    must_fail("umount2", b"/proc/sys", 2)


def reach_pivot_root() -> None:
    must_fail("pivot_root", b".", b".")


def reach_chroot() -> None:
    os.chroot("/tmp")
    raise ReachedError("chroot")


def reach_the_new_mount_calls() -> None:
    for attempt in (("open_tree", -100, b"/", 1), ("fsopen", b"tmpfs", 0), ("fspick", -100, b"/", 0)):
        must_fail(*attempt)
    must_fail("mount_setattr", -100, b"/", 0, struct.pack("4Q", 0, 1, 0, 0), 32)


# --- the kernel -------------------------------------------------------------------------------------


def reach_io_uring() -> None:
    must_fail("io_uring_setup", 4, bytes(120))


def reach_bpf() -> None:
    must_fail("bpf", 0, bytes(64), 64)


def reach_perf() -> None:
    must_fail("perf_event_open", struct.pack("II", 1, 112) + bytes(104), 0, -1, -1, 0)


def reach_userfaultfd() -> None:
    must_fail("userfaultfd", 0)


def reach_keys() -> None:
    must_fail("keyctl", 0, -3, 0, 0, 0)


def reach_adding_a_key() -> None:
    must_fail("add_key", b"user", b"name", b"value", 5, -3)


def reach_requesting_a_key() -> None:
    must_fail("request_key", b"user", b"name", None, 0)


def reach_kexec() -> None:
    must_fail("kexec_load", 0, 0, None, 0)


def reach_kexec_by_file() -> None:
    must_fail("kexec_file_load", -1, -1, 0, None, 0)


def reach_loading_a_module() -> None:
    must_fail("init_module", b"", 0, b"")


def reach_loading_a_module_file() -> None:
    must_fail("finit_module", os.open("/etc/passwd", os.O_RDONLY), b"", 0)


def reach_unloading_a_module() -> None:
    must_fail("delete_module", b"overlay", 0)


def reach_secret_memory() -> None:
    must_fail("memfd_secret", 0)


def reach_rebooting() -> None:
    must_fail("reboot", 0xFEE1DEAD, 672274793, 0, None)


def reach_swap() -> None:
    must_fail("swapon", b"/tmp/swap", 0)


def reach_accounting() -> None:
    must_fail("acct", None)


def reach_quotas() -> None:
    must_fail("quotactl", 0x800001 << 8, None, 0, None)


def reach_the_kernels_log() -> None:
    must_fail("syslog", 3, ctypes.create_string_buffer(64), 64)


def reach_kernel_addresses() -> None:
    for path in ("/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/timer_list"):
        try:
            with open(path, "rb", buffering=0) as file:
                data = file.read(64)
        except OSError:
            continue
        if data:
            raise ReachedError(f"{path} holds {data!r}")


def reach_kernel_settings() -> None:
    for path in (
        "kernel/core_pattern",
        "kernel/hostname",
        "vm/drop_caches",
        "kernel/modprobe",
        "net/ipv4/ip_forward",
    ):
        try:
            must_not_open(f"/proc/sys/{path}", os.O_WRONLY)
        except OSError:
            continue


def reach_core_pattern() -> None:
    must_not_open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


def reach_sysrq() -> None:
    must_not_open("/proc/sysrq-trigger", os.O_WRONLY)


def reach_interrupts() -> None:
    for path in glob.glob("/proc/irq/*/smp_affinity") or ["/proc/irq/default_smp_affinity"]:
        must_not_open(path, os.O_WRONLY)


def reach_the_hosts_name_setting() -> None:
    must_fail("sethostname", b"owned", 5)


def reach_the_domain_name() -> None:
    must_fail("setdomainname", b"owned", 5)


def reach_the_clock() -> None:
    must_fail("clock_settime", 0, struct.pack("qq", 1, 0))


def reach_the_clock_by_settimeofday() -> None:
    must_fail("settimeofday", struct.pack("qq", 1, 0), None)


def reach_the_clocks_speed() -> None:
    must_fail("adjtimex", struct.pack("I", 0x8000) + bytes(252))


def reach_io_ports() -> None:
    if X86 and libc.syscall(ctypes.c_long(172), ctypes.c_long(3)) == 0:
        raise ReachedError("iopl(3)")


def reach_typing_into_a_terminal() -> None:
    _, other = os.openpty()
    fcntl.ioctl(other, 0x5412, b"x")
    raise ReachedError("TIOCSTI")


def reach_calls_of_x32() -> None:
    if X86 and libc.syscall(ctypes.c_long(0x40000000 | 39)) >= 0:
        raise ReachedError("x32 getpid")


def reach_calls_of_i386() -> None:
    if not X86:
        return
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(
        b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"
    )  # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    if function() >= 0:
        raise ReachedError("int 0x80 getpid")


# --- the network ------------------------------------------------------------------------------------


def reach_an_abstract_socket_of_the_host() -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + HOST["abstract"])
    raise ReachedError("connected")


def reach_a_socket_file_of_the_host() -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(HOST["socket"])
    raise ReachedError("connected")


def reach_a_loopback_service_of_the_host() -> None:
    with socket.create_connection(("127.0.0.1", HOST["port"]), timeout=2) as client:
        raise ReachedError(f"connected, and read {client.recv(64)!r}")


def reach_a_service_on_the_hosts_address() -> None:
    with socket.create_connection((HOST["address"], HOST["port"]), timeout=2) as client:
        raise ReachedError(f"connected, and read {client.recv(64)!r}")


def reach_interfaces_of_the_host() -> None:
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise ReachedError(str(names))


def reach_a_packet_socket() -> None:
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raise ReachedError("AF_PACKET")


def reach_a_raw_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    raise ReachedError("SOCK_RAW")


def reach_the_hypervisor() -> None:
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        client.connect((2, 1024))
    raise ReachedError("AF_VSOCK")


def reach_the_routes() -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.bind((0, 0))
        netlink.send(
            struct.pack("=IHHII", 32, 16, 5, 1, 0) + struct.pack("=BxHiII", 0, 0, 1, 0, 1)
        )  # lo down
        (error,) = struct.unpack_from("=i", netlink.recv(4096), 16)
    if error == 0:
        raise ReachedError("lo was taken down")


def reach_a_low_port() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 80))
    raise ReachedError("port 80")


def reach_shared_memory_of_the_host() -> None:
    with open("/proc/sysvipc/shm") as segments:
        lines = segments.read().splitlines()
    if len(lines) > 1:
        raise ReachedError(str(lines[1:]))
    must_hold_only("/dev/shm", [])


# --- what belongs to the system ----------------------------------------------------------------------


def reach_the_systems_programs() -> None:
    must_not_open("/usr/bin/env", os.O_WRONLY)


def reach_the_systems_settings() -> None:
    must_not_open("/etc/passwd", os.O_WRONLY)


def reach_new_files_in_the_root() -> None:
    must_not_open("/planted", os.O_WRONLY | os.O_CREAT)


def change_what_is_exposed() -> None:
    """No attempt but a deed: the test then looks whether the host has seen any of it."""
    folder = HOST["exposure"]
    with open(f"{folder}/old.txt", "w") as file:
        file.write("changed in the box")
    os.unlink(f"{folder}/doomed.txt")
    with open(f"{folder}/new.txt", "w") as file:
        file.write("made in the box")


def attempt(name: str) -> str:
    """Run one attempt in a child; returns what it reached."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(ATTEMPT_S)
        try:
            globals()[name]()
            verdict = ""
        except ReachedError as reached:
            verdict = f"reached: {reached}"
        except OSError:
            verdict = ""
        except BaseException as error:  # noqa: BLE001 (whatever it is goes into the verdict)
            verdict = f"the attempt itself failed: {error!r}"
        os.write(writer, verdict.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        verdict = pipe.read().decode()
    _, status = os.waitpid(pid, 0)
    return verdict or (f"the attempt ended with {status}" if status else "")


def main() -> None:
    os.umask(0)
    change_what_is_exposed()
    verdicts = {name: attempt(name) for name in globals().copy() if name.startswith("reach_")}
    json.dump(verdicts, sys.stdout)
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
