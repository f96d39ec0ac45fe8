# SPDX-License-Identifier: MIT
"""Numbers for people, as the library formats them (resmon_format_value)."""
import ctypes

from . import _abi
from ._library import lib

UNKNOWN = "-"


def text_of(value, unit, per=""):
    """Returns a value with its unit: "687.5 MiB"; with per="/s" a rate."""
    if value is None:
        return UNKNOWN
    text = ctypes.create_string_buffer(_abi.VALUE_BYTES)
    lib.format_value((unit + per).encode(), value, text, _abi.VALUE_BYTES)
    return text.value.decode(errors="replace")


def bytes_text(value):
    """Returns "687.5 MiB"."""
    return text_of(value, "B")


def seconds_text(value):
    """Returns "1.234 ms", "62 min 05 s"."""
    return text_of(value, "s")


def percent_text(value):
    """Returns "99.8 %"."""
    return text_of(value, "%")


def count_text(value):
    """Returns a number without a unit."""
    return text_of(value, "1")
