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


def count_text(value):
    """Returns a number without a unit."""
    return text_of(value, "1")


def table_text(headers, rows, left=1):
    """Returns a table as lines of text; the first `left` columns are texts, the others numbers."""
    lines = [tuple(headers), *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
    return "\n".join("  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)
