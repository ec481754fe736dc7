# SPDX-License-Identifier: GPL-2.0-or-later
import copy
import operator
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slurmhooks.values import (
    INFINITE,
    NO_VAL,
    UNLIMITED,
    number_from_c,
    number_to_c,
    signed_to_c,
    strings_from_c,
    text_from_c,
    text_to_c,
    variable_size,
)

WIDTHS = (8, 16, 32, 64)
widths = st.sampled_from(WIDTHS)
ORDER: dict[str, Any] = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def test_constants_are_those_of_slurm_h() -> None:
    """NO_VAL and INFINITE of each width have the numbers of slurm.h."""
    assert (NO_VAL[8], NO_VAL[16], NO_VAL[32], NO_VAL[64]) == (0xFE, 0xFFFE, 0xFFFFFFFE, 0xFFFFFFFFFFFFFFFE)
    assert (INFINITE[8], INFINITE[16], INFINITE[32], INFINITE[64]) == (0xFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)


@given(st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_unlimited_is_above_every_number(number: float) -> None:
    """UNLIMITED is greater than every number, including infinity, on both sides of each operator."""
    for sign, expected in (("<", False), ("<=", False), (">", True), (">=", True)):
        assert ORDER[sign](UNLIMITED, number) is expected
        assert ORDER[MIRROR[sign]](number, UNLIMITED) is expected
    assert not operator.eq(UNLIMITED, number)
    assert not operator.eq(number, UNLIMITED)


def test_unlimited_equals_itself_alone() -> None:
    """UNLIMITED is equal to itself, and to nothing else."""
    for sign, expected in (("<", False), ("<=", True), (">", False), (">=", True)):
        assert ORDER[sign](UNLIMITED, UNLIMITED) is expected
    assert operator.eq(UNLIMITED, UNLIMITED)
    assert not operator.eq(UNLIMITED, INFINITE[32])


@pytest.mark.parametrize("sign", ORDER)
@pytest.mark.parametrize("other", [None, "60", [], object()])
def test_unlimited_compares_with_numbers_only(sign: str, other: object) -> None:
    """Comparing UNLIMITED with other types, including None, raises TypeError, as it does for an int."""
    with pytest.raises(TypeError):
        ORDER[sign](UNLIMITED, other)
    with pytest.raises(TypeError):
        ORDER[sign](other, UNLIMITED)


def test_unlimited_is_one_object() -> None:
    """Copies and pickles of UNLIMITED are the same object; it can be a dict key."""
    assert copy.copy(UNLIMITED) is UNLIMITED
    assert copy.deepcopy(UNLIMITED) is UNLIMITED
    assert pickle.loads(pickle.dumps(UNLIMITED)) is UNLIMITED
    assert {UNLIMITED: 1}[UNLIMITED] == 1
    assert repr(UNLIMITED) == "UNLIMITED"


@pytest.mark.parametrize("bits", WIDTHS)
def test_unset_and_unlimited_of_each_width(bits: int) -> None:
    """None is NO_VAL and UNLIMITED is INFINITE of the width, in both directions; 0 is 0."""
    assert number_to_c("x", None, bits) == NO_VAL[bits]
    assert number_to_c("x", UNLIMITED, bits) == INFINITE[bits]
    assert number_to_c("x", 0, bits) == 0
    assert number_from_c(NO_VAL[bits], bits) is None
    assert number_from_c(INFINITE[bits], bits) is UNLIMITED
    assert number_from_c(0, bits) == 0


@given(st.data(), widths)
def test_numbers_round_trip(data: st.DataObject, bits: int) -> None:
    """Every C value converts to a Python value, which converts to the same C value."""
    raw = data.draw(st.integers(0, (1 << bits) - 1))
    value = number_from_c(raw, bits)
    assert number_to_c("x", value, bits) == raw


@given(st.integers(), widths)
def test_numbers_are_never_truncated(value: int, bits: int) -> None:
    """A number is stored as it is, or refused with field, value and limit."""
    if 0 <= value < NO_VAL[bits]:
        assert number_to_c("time_limit", value, bits) == value
    else:
        with pytest.raises(ValueError, match=rf"^time_limit takes 0 to {NO_VAL[bits] - 1}, .*not {value}$"):
            number_to_c("time_limit", value, bits)


@pytest.mark.parametrize("bits", WIDTHS)
def test_the_two_largest_numbers_are_not_numbers(bits: int) -> None:
    """The numbers of NO_VAL and INFINITE are refused: they would unset the field."""
    for value in (NO_VAL[bits], INFINITE[bits]):
        with pytest.raises(ValueError, match="UNLIMITED"):
            number_to_c("x", value, bits)


@pytest.mark.parametrize("value", ["60", 60.0, b"60", [], object()])
def test_only_numbers_are_numbers(value: object) -> None:
    """A value of another type, including float, is refused with field and value."""
    with pytest.raises(TypeError, match=r"^time_limit takes an int, None or UNLIMITED, not "):
        number_to_c("time_limit", value, 32)
    with pytest.raises(TypeError, match=r"^nice takes an int, not "):
        signed_to_c("nice", value, 32)


def test_a_bool_becomes_a_plain_int() -> None:
    """True converts to 1."""
    assert type(number_to_c("x", True, 16)) is int
    assert number_to_c("x", True, 16) == 1
    assert type(signed_to_c("x", False, 16)) is int


@given(st.integers(), widths)
def test_signed_numbers_are_never_truncated(value: int, bits: int) -> None:
    """A signed number is stored as it is, or refused with field, value and limits."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if low <= value <= high:
        assert signed_to_c("nice", value, bits) == value
    else:
        with pytest.raises(ValueError, match=rf"^nice takes {low} to {high}, not {value}$"):
            signed_to_c("nice", value, bits)


@given(st.binary().filter(lambda raw: b"\0" not in raw))
def test_text_round_trips(raw: bytes) -> None:
    """Every C string converts to a text that converts to the same bytes, even if it is not UTF-8."""
    assert text_to_c("comment", text_from_c(raw)) == raw


@given(st.text())
def test_text_is_stored_whole_or_refused(text: str) -> None:
    """A text is stored completely, or refused with its field."""
    if "\0" in text:
        with pytest.raises(ValueError, match=r"^comment must not hold a NUL byte"):
            text_to_c("comment", text)
    else:
        assert text_from_c(text_to_c("comment", text)) == text


class Odd(str):
    """A text whose methods do not fit its content."""

    __slots__ = ()
    __hash__ = str.__hash__

    def encode(self, *_: object) -> bytes:
        """Return something else."""
        return b"else\0"

    def isascii(self) -> bool:
        """Claim to be ASCII."""
        return True

    def __contains__(self, _: object) -> bool:
        """Claim to contain nothing."""
        return False

    def __len__(self) -> int:
        """Claim to be empty."""
        return 0


def test_the_content_of_a_subclass_counts() -> None:
    """What a subclass of str says about its content does not matter, only what C would get."""
    assert text_to_c("field", Odd("\xe9")) == b"\xc3\xa9"
    assert variable_size("NAME", Odd("\xe9")) == len(b"NAME=\xc3\xa9\0")
    for value in (Odd("a\0"), Odd("\ud800")):
        with pytest.raises(ValueError, match="field"):
            text_to_c("field", value)
        with pytest.raises(ValueError, match="NAME"):
            variable_size("NAME", value)


def test_half_a_surrogate_pair_is_refused() -> None:
    """A surrogate that does not represent a byte raises a ValueError with the field."""
    with pytest.raises(ValueError, match=r"^comment must be text that utf-8 can hold"):
        text_to_c("comment", "\ud800")


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"]])
def test_only_text_is_text(value: object) -> None:
    """A value that is not a str is refused with field and value."""
    with pytest.raises(TypeError, match=r"^comment takes a str, not "):
        text_to_c("comment", value)


class Ffi:
    """The part of cffi that strings_from_c needs."""

    NULL = None

    @staticmethod
    def string(item: bytes) -> bytes:
        """Return the bytes."""
        return item


@pytest.mark.parametrize(
    ("array", "texts"), [(None, []), ([None], []), ([b"A=1", b"\xff", None, b"beyond"], ["A=1", "\udcff"])]
)
def test_strings_of_an_array(array: list[bytes | None] | None, texts: list[str]) -> None:
    """An array of strings ends at NULL; a null array is an empty one."""
    assert strings_from_c(Ffi, array) == texts
