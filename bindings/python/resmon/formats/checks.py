# SPDX-License-Identifier: MIT
"""Checks of what outsiders wrote.  Each raises a ValueError that names the place.

Old files come from other programs, other versions and other people: nothing in them is taken for
what it should be.
"""
from __future__ import annotations

import re
import reprlib
from typing import Any, Dict, List, Optional, Union

from ..errors import FormatError

Number = Union[int, float]

# No figure of a machine is as large; beyond it products of figures and times need not be finite.
_LARGEST = 10**24

_INTEGER = re.compile(r"[0-9]{1,24}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", re.ASCII)

# Nanoseconds since 1970 end in 2262, where 64 bits do.
_LAST_SECOND = 9 * 10**9

# Few numbers may be padded to many rows: what a small file can make this module hold is bounded.
MAX_CELLS = 20 * 10**6


def shown(value: Any) -> str:
    """A value in the text of an error: short, whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a %s" % type(value).__name__


def number(value: Any, where: str) -> Number:
    """A finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError("%s is %s: expected a number" % (where, shown(value)))
    if not 0 <= value < _LARGEST:  # false for NaN, too
        raise FormatError(
            "%s is %s: expected a finite number of at least 0" % (where, shown(value))
        )
    return value


def parse(text: str, where: str) -> Number:
    """The number of a text; float() alone would take "nan", "1_0" and digits of all scripts."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return number(int(text), where)
    if len(text) > 400 or not _FLOAT.fullmatch(text):
        raise FormatError("%s is %s: expected a number" % (where, shown(text)))
    return number(float(text), where)


def figure(value: Any, where: str) -> Optional[Number]:
    """A number, or None: not known."""
    return None if value is None else number(value, where)


def figures(values: List[Any], where: str) -> List[Optional[Number]]:
    """A list of them; the place of each is only made up where it is wrong."""
    for row, value in enumerate(values):
        if type(value) not in (int, float) or not 0 <= value < _LARGEST:
            figure(value, "%s[%d]" % (where, row))
    return values


def is_finite(value: Any) -> bool:
    """Whether it is a number that a run document may hold; these may be negative."""
    return type(value) in (int, float) and -_LARGEST < value < _LARGEST  # false for NaN, too


def epoch_ns(value: Any, where: str) -> int:
    """Seconds since 1970 as nanoseconds, exactly: a double times 1e9 would be off by 100 ns."""
    seconds = number(value, where)
    if isinstance(seconds, int) and seconds < _LAST_SECOND:
        return seconds * 10**9
    if seconds >= _LAST_SECOND:
        raise FormatError("%s is %s: expected seconds since 1970" % (where, shown(value)))
    numerator, denominator = seconds.as_integer_ratio()
    return (2 * numerator * 10**9 + denominator) // (2 * denominator)


def epoch_seconds(nanoseconds: int) -> Number:
    """The inverse of epoch_ns(); whole seconds are integers, as perfmon writes them."""
    whole, rest = divmod(nanoseconds, 10**9)
    return whole if rest == 0 else nanoseconds / 10**9


# In a file that is made of a run whose first row is later than its start: that start, in seconds
# since 1970.  The old readers do not look at it.
START_KEY = "resmon_start"


def start_ns(value: Any, times_ns: List[int], where: str) -> int:
    """When a run began: its first row, where the file does not say."""
    if value is None:
        return times_ns[0]
    start = epoch_ns(value, "%s: %s" % (where, START_KEY))
    if start > times_ns[0]:
        raise FormatError("%s: %s is later than the first row" % (where, START_KEY))
    return start


def start_of(start: int, first: int) -> Dict[str, Number]:
    """What says in a file when a run began, if it must be said."""
    return {START_KEY: epoch_seconds(start)} if start < first else {}


def ascending(times_ns: List[int], where: str) -> None:
    for row in range(1, len(times_ns)):
        if times_ns[row] < times_ns[row - 1]:
            text = "%s[%d] is less than the one before it: expected ascending times"
            raise FormatError(text % (where, row))


def cells(rows: int, columns: int, where: str) -> None:
    if rows * columns > MAX_CELLS:
        raise FormatError(
            "%s: %d rows of %d figures: expected %d figures in all, at most"
            % (where, rows, columns, MAX_CELLS)
        )
