"""Bytes become lines and values, or a reason why not."""

import pytest

from sandbox.client.lines import Line, LineBuffer, NotJsonError, decode
from sandbox.client.wire import WireLog


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    data = b"one\n\ntwo\nthree"
    lines = LineBuffer(100)
    got = [line.data for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])]

    assert got == [b"one", b"", b"two"]
    assert lines.end() == Line(b"three", 5, whole=True)
    assert lines.end() is None


def test_a_line_of_exactly_the_limit_is_whole_and_one_more_byte_is_not() -> None:
    lines = LineBuffer(10)
    fits, beyond, after = lines.feed(b"x" * 10 + b"\n" + b"y" * 11 + b"\nz\n")

    assert fits == Line(b"x" * 10, 10, whole=True)
    assert (beyond.size, beyond.whole) == (11, False)
    assert after == Line(b"z", 1, whole=True)


def test_a_line_without_end_costs_its_ends_only() -> None:
    lines = LineBuffer(100_000)
    for _ in range(100):
        assert list(lines.feed(b"x" * 65_536)) == []
    (line,) = lines.feed(b'"id":7}\n')

    assert line.size == 100 * 65_536 + 7
    assert len(line.data) <= 2 * 4096
    assert line.data.startswith(b"xxx")
    assert line.data.endswith(b'"id":7}')


@pytest.mark.parametrize(
    ("line", "value", "oddities"),
    [
        (b'{"a":[1,2.5,true,null]}', {"a": [1, 2.5, True, None]}, ()),
        (b"{}\r", {}, ("crlf",)),
        (b'"\xff"', "\ufffd", ("invalid-utf8",)),
        (b"[NaN,-Infinity,1e999]", ["NaN", "-Infinity", "1e999"], ("number-out-of-range",)),
        (rb'{"\ud800":"\udc00x","ok":"\ud83d\ude00"}', {"?": "?x", "ok": "😀"}, ("lone-surrogate",)),
        (b"123456789012345678901234567890", 123456789012345678901234567890, ()),
        (b"[" * 128 + b"]" * 128, None, ()),
    ],
)
def test_a_value_is_read_and_what_was_odd_is_named(
    line: bytes, value: object, oddities: tuple[str, ...]
) -> None:
    decoded = decode(line)

    assert value is None or decoded.value == value
    assert decoded.oddities == oddities


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", "stdout-junk"),
        (b'{"a":', "stdout-junk"),
        (b"9" * 5000, "stdout-junk"),
        (b"[" * 130 + b"]" * 130, "nested-too-deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested-too-deep"),
        (b"[" + b"{}," * 8_000_000 + b"{}]", "line-too-complex"),
    ],
    ids=["words", "half", "digits", "deep", "deeper", "complex"],
)
def test_what_cannot_be_read_safely_is_refused_with_a_code(line: bytes, code: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        decode(line)

    assert caught.value.code == code


def test_the_wire_log_keeps_the_newest_lines_and_both_ends_of_long_ones() -> None:
    wire = WireLog(10_000)
    wire.record(">", b"first")
    for number in range(100):
        wire.record("<", b"%d" % number)
    wire.record("!", b"a" * 5_000 + b"z" * 5_000)
    dumped = wire.dump()

    assert wire.dropped == 102 - len(dumped) > 0
    assert dumped[-2][1:] == ("<", "99")
    long = dumped[-1][2]
    assert long.startswith("aaa")
    assert long.endswith("zzz")
    assert "…7440 bytes…" in long
    assert [at for at, _, _ in dumped] == sorted(at for at, _, _ in dumped)
