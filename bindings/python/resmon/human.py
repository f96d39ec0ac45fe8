# SPDX-License-Identifier: MIT
"""Numbers for people: bytes in powers of 1024, all else in powers of 1000, three figures or four."""
import math

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_PREFIXES = {-3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T"}
UNKNOWN = "-"


def _rounded(value):
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:.{digits}f}"


def bytes_text(value, per=""):
    """"687 MiB"; with per="/s" a rate."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    step = 0
    while abs(value) >= 1023.5 and step < len(_BINARY) - 1:
        value /= 1024
        step += 1
    return f"{value:.0f} B{per}" if step == 0 else f"{_rounded(value)} {_BINARY[step]}{per}"


def prefixed(value, unit):
    """"1.23 ms", "15 kJ"."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return f"0 {unit}"
    power = min(max(math.floor(math.log10(abs(value)) / 3 + 1e-12), -3), 4)
    scaled = value / 1000.0 ** power
    if abs(scaled) >= 999.5 and power < 4:
        power, scaled = power + 1, scaled / 1000
    return f"{_rounded(scaled)} {_PREFIXES[power]}{unit}"


def seconds_text(value):
    """"1.23 ms" below a minute, then "3 min 20 s", "2 h 05 min"."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if abs(value) < 60:
        return prefixed(value, "s")
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def percent_text(value):
    """"99.8 %"."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.1f} %"


def count_text(value):
    """A number without a unit."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else _rounded(value)


def text_of(value, unit, per=""):
    """A value of a unit of the table of metrics."""
    if unit == "B":
        return bytes_text(value, per)
    if unit == "%":
        return percent_text(value)
    if unit == "s" and not per:
        return seconds_text(value)
    if unit in ("1", ""):
        return count_text(value) + (per if value is not None and math.isfinite(value) else "")
    return prefixed(value, unit + per)
