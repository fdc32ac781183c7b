"""The closed list of reason codes: why a verdict is what it is, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from sandbox.model import Verdict


class Reason(StrEnum):
    """Every reason code that a finding may carry. Codes are stable: reports, CI and ``explain`` use them."""

    FIXED_HOST = "fixed-host"
    HOST_FROM_ARGUMENT = "host-from-argument"
    MALFORMED = "malformed"
    NEVER_ACCEPTED = "never-accepted"
    NO_EFFECT_SEEN = "no-effect-seen"
    OBSERVED_ONCE = "observed-once"
    NOT_REPRODUCED = "not-reproduced"
    UNCONFIRMED = "unconfirmed"
    UNATTRIBUTED_LATE_EFFECT = "unattributed-late-effect"
    IDLE_WRITES = "idle-writes"
    MISSING_INSTRUMENT = "missing-instrument"
    REFUSED_BY_BOX = "refused-by-box"
    BOX_LIMIT = "box-limit"
    WORLD_UNREACHABLE = "world-unreachable"
    REMOTE_UNCLASSIFIED = "remote-unclassified"
    UNSTABLE_DEFINITION = "unstable-definition"
    BUDGET_SPENT = "budget-spent"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    CONCURRENT = "concurrent"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class ReasonEntry:
    """What people are told about one code: a title, what it means, when it is given, and the next step.

    ``verdicts`` are those that the code may stand beside.
    """

    code: Reason
    title: str
    meaning: str
    given: str
    next_step: str
    verdicts: frozenset[Verdict]


_CONTRADICTED = frozenset({Verdict.CONTRADICTED})
_INCONCLUSIVE = frozenset({Verdict.INCONCLUSIVE})
_JUDGED = frozenset({Verdict.CONTRADICTED, Verdict.CONSISTENT, Verdict.OVERCAUTIOUS})

_ENTRIES = (
    ReasonEntry(
        Reason.FIXED_HOST,
        "The tool contacts one fixed host",
        "Every contact of the tool went to hosts of one registrable domain, and the call's arguments did not name it.",
        "openWorldHint is false and the tool looked up, connected to or sent something to that domain.",
        "Declare openWorldHint true. If you hold that this one service is a closed domain, say so with "
        "`--closed-world HOST`: hosts of the closed world are no contact.",
        _CONTRADICTED,
    ),
    ReasonEntry(
        Reason.HOST_FROM_ARGUMENT,
        "The tool contacts whatever host its arguments name",
        "Every host that the tool contacted appears in the arguments of the call that contacted it.",
        "openWorldHint is false and the caller can make the tool contact any host.",
        "Declare openWorldHint true, or refuse hosts outside a fixed list.",
        _CONTRADICTED,
    ),
    ReasonEntry(
        Reason.MALFORMED,
        "The hint is not a JSON boolean",
        "The server sent the hint as a string, a number, null or another value. Some clients coerce it, others "
        "ignore it, so it claims nothing that all of them understand.",
        "The raw tool definition holds the key with a value that is neither true nor false.",
        "Send a JSON boolean, or leave the key out.",
        frozenset({Verdict.UNDECLARED}),
    ),
    ReasonEntry(
        Reason.NEVER_ACCEPTED,
        "No call was accepted",
        "Every call of the tool was refused, so what it does when it works was never seen.",
        "All argument sets that were generated came back as an error; the report shows the last refusals.",
        "Give the tool what it needs: a `--workspace`, `-e` settings, or an example call (`hintproof investigate "
        "TOOL --args JSON -- COMMAND`, or a scenario). `hintproof arguments TOOL -- COMMAND` shows what would be sent and why.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.NO_EFFECT_SEEN,
        "No accepted call had an effect",
        "destructiveHint and idempotentHint speak of what a call changes. Calls were accepted, but none changed "
        "anything, so there was nothing to judge.",
        "No lasting effect was seen in any accepted call.",
        "Give the tool something to work on (`--workspace`, an example call). If it truly changes nothing, declare "
        "readOnlyHint true; the two hints are moot then.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.OBSERVED_ONCE,
        "Seen once, and not again in a fresh box",
        "The server did something that goes against the hint. The kernel attributes it to the server and the idle "
        "control does not show it, but the same call in a fresh box did not do it again.",
        "The confirming call showed no such effect. This fails the run by default: acting once, at random or at a "
        "crash is no way to pass.",
        "Look at the evidence with `hintproof replay ID`. Find what differs between runs: time, random choice, a "
        "counter, a first start.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.NOT_REPRODUCED,
        "An answer changed once, and not again",
        "Another tool or resource answered differently after the call, but not when the call was made again in a "
        "fresh box. Answers are not attributed by the kernel, so this does not count as an effect observed once.",
        "The only sign against the hint was a changed answer, and the confirming call did not show it. No run of this "
        "version compares answers; the code is kept for later work.",
        "Replay the finding; a changing answer is often a time or a random value.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.UNCONFIRMED,
        "Not yet tried again in a fresh box",
        "Something that goes against the hint (or the second call that would decide it) was not repeated, so it is "
        "not reported as a contradiction.",
        "No confirming trial was made: the budget ended, or the evidence was gathered under a profile for which this "
        "did not matter.",
        "Verify again with a larger `--budget`, or run `hintproof replay ID`.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.UNATTRIBUTED_LATE_EFFECT,
        "Something happened late and no call could be blamed",
        "After the last call of a box something changed, and calling each tool alone did not bring it back, or was "
        "not tried. Until it is attributed, none of that box's tools is called consistent.",
        "The long idle at the end of the box showed an effect that the idle control did not.",
        "Run `hintproof investigate TOOL -- COMMAND` on the suspects, one at a time.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.IDLE_WRITES,
        "The server acts on its own while nothing is called",
        "The server changes existing content, or contacts a host, while it is idle. What a tool does of the same "
        "kind cannot be told apart from that.",
        "The idle control showed it.",
        "Switch the server's background work off for the run, for example with an environment setting (`-e`).",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.MISSING_INSTRUMENT,
        "An instrument that this hint needs did not work",
        "Blind is not clean: without the instruments that could have seen a contradiction, nothing is called "
        "consistent.",
        "At least one trial with calls ran without one of the hint's instruments; the finding names it.",
        "Run `hintproof doctor`: it shows each instrument and its cure.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.REFUSED_BY_BOX,
        "The box denied something that the tool tried",
        "What the box prevented proves nothing: outside it, the tool would have gone on.",
        "A write, a system call or a socket of the tool was denied by the sandbox.",
        "If what was denied is harmless and the tool needs it, give it: `--expose DIR` for a folder, `--workspace` "
        "for data.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.BOX_LIMIT,
        "The tool ran into a limit of the box",
        "Memory, processes, disk, open files or file size ran out, or the box cannot do what was asked (renaming a "
        "folder of a large workspace). What the tool would have done beyond that is unknown.",
        "A limit was hit during a call of the tool.",
        "Raise the limit with `--limit NAME=VALUE`, or give the tool less to do.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.WORLD_UNREACHABLE,
        "The simulated world did not answer what the tool needed",
        "The tool talked to the outside and got no usable answer, so what it does with one was not seen.",
        "A request was refused, timed out, or the server did not trust the gateway's certificate. No run of this version "
        "finds that out; the code is kept for later work.",
        "Give the tool a service that it understands: one that the server starts itself, on loopback.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.REMOTE_UNCLASSIFIED,
        "A request may have changed something elsewhere",
        "The tool sent a request other than GET or HEAD, a datagram, or data in a protocol other than HTTP. Whether that "
        "writes on the other side cannot be told from its form.",
        "Nothing else contradicts the hint, and at least one such request was sent.",
        "Read the request in the report. openWorldHint is judged in full all the same.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.UNSTABLE_DEFINITION,
        "The server sends different hints at different times",
        "The hints of this tool differ between listings or clients. The strongest claim ever sent was judged.",
        "Two listings of one run did not agree on the tool's annotations.",
        "Send the same definition to every client at every time.",
        _JUDGED,
    ),
    ReasonEntry(
        Reason.BUDGET_SPENT,
        "The budget ended first",
        "The run's time or calls were used up before this tool, or the call that decides this hint, could be tried.",
        "No call of the tool was made, or the deciding call was not.",
        "Verify again with a larger `--budget`, or only this tool with `--tool NAME`.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.CRASHED,
        "The server died during the calls",
        "Calls that would have decided the hint ended because the server's process did.",
        "Every call, or every repeated call, ended in a crash.",
        "Fix the crash: the report shows the arguments and the end of the server's standard error.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.TIMED_OUT,
        "The calls did not end in time",
        "Calls that would have decided the hint had not been answered when their time was up.",
        "Every call, or every repeated call, timed out.",
        "Look for what the tool waits for: a network answer, input, a lock.",
        _INCONCLUSIVE,
    ),
    ReasonEntry(
        Reason.CONCURRENT,
        "Two calls at once do what two calls in a row do not",
        "The same call sent twice at the same time left an effect more than once.",
        "Only the concurrent hazard showed it, which no run of this version tries; the code is kept for later work.",
        "Guard the tool's check and its write with one lock or one transaction.",
        _CONTRADICTED,
    ),
    ReasonEntry(
        Reason.RETRY,
        "A retried call acts twice",
        "The answer to the call was lost on purpose and the call sent again, as clients do with an idempotent tool.",
        "Only the retry hazard showed it, which no run of this version tries; the code is kept for later work.",
        "Make the second call recognise the first, for example by a key that the caller sends.",
        _CONTRADICTED,
    ),
)

REASONS: Mapping[Reason, ReasonEntry] = MappingProxyType({entry.code: entry for entry in _ENTRIES})
"""The entry of every code."""
