# SPDX-License-Identifier: MIT
"""Numbers for people, as the library writes them (resmon_format_value)."""
import ctypes

from . import _abi
from ._library import lib

UNKNOWN = "-"


def text_of(value, unit, per=""):
    """A value of a unit of the table of metrics: "687.5 MiB"; with per="/s" a rate."""
    if value is None:
        return UNKNOWN
    text = ctypes.create_string_buffer(_abi.VALUE_BYTES)
    lib.format_value((unit + per).encode(), value, text, _abi.VALUE_BYTES)
    return text.value.decode(errors="replace")


def bytes_text(value):
    """"687.5 MiB"."""
    return text_of(value, "B")


def seconds_text(value):
    """"1.234 ms", "62 min 05 s"."""
    return text_of(value, "s")


def percent_text(value):
    """"99.8 %"."""
    return text_of(value, "%")


def count_text(value):
    """A number without a unit."""
    return text_of(value, "1")
