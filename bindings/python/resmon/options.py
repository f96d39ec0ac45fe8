# SPDX-License-Identifier: MIT
"""Converts Python options to the text that the library reads: "interval=0.1s,domains=process+tree".

Names, types and values of options are defined in the library; its table is read once, with the first option.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from ctypes import byref, c_uint64
from functools import lru_cache

from . import _abi
from ._generated_records import CarbonIntensity, Option, SinkKind
from ._library import encoded, lib, set_field, take_text
from .errors import ArgumentError, ArgumentTypeError, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Place


@lru_cache(maxsize=None)
def table() -> dict[str, dict[str, str]]:
    """Returns {owner: {key: type}} of all options; owners are "monitor", "carbon", "environment" and the sinks."""
    found: dict[str, dict[str, str]] = {}
    for option in Option.each(lib.option_count, lib.option_at):
        found.setdefault(option.owner, {})[option.key] = option.type
    return found


@lru_cache(maxsize=None)
def sinks() -> dict[str, str]:
    """Returns {name: main option} of all sinks."""
    return {kind.name: kind.main for kind in SinkKind.each(lib.sink_kind_count, lib.sink_kind_at)}


def keywords() -> str:
    """Returns all options of monitors and sinks, with bounds, defaults and help, as text."""
    return take_text(lib.option_text)


def bits(key, names):
    """Returns names of an option, "cpu+rss" or a sequence, as bits."""
    found = c_uint64()
    lib.option_bits(key.encode(), _joined(names, key), byref(found))
    return found.value


@lru_cache(maxsize=None)
def names_of(key):
    """Returns {name: bits} of an option that takes names."""
    values = next(option.values for option in Option.each(lib.option_count, lib.option_at)
                  if option.key == key and option.type == "names")
    return {name: bits(key, name) for name in values.split(", ") if name != "none"}


# ---- values -----------------------------------------------------------------------------------------


def _joined(names, what):
    """Returns "process+tree" of a text or a sequence of names."""
    names = names.replace(",", "+") if isinstance(names, str) else "+".join(map(_name, names))
    return encoded("+".join(name.strip() for name in names.split("+")), what)


def _name(name):
    if not isinstance(name, str):
        raise ArgumentTypeError(f"a name must be a text, not {type(name).__name__}")
    return name


def _no_bool(value):
    if isinstance(value, bool):
        raise TypeError
    return value


def _decimal(value, what):
    """Returns a number without an exponent, which the library does not read."""
    try:
        number = float(_no_bool(value))
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{what}: a number is wanted, not {type(value).__name__}") from None
    whole, _, places = f"{number:.15f}".partition(".")
    return f"{whole}.{places}".rstrip("0").rstrip(".") if math.isfinite(number) else whole


def _count(value, what):
    try:
        return str(operator.index(_no_bool(value)))
    except TypeError:
        raise ArgumentTypeError(f"{what}: a whole number is wanted, not {type(value).__name__}") from None


_WRITERS = {
    "duration": lambda value, what: _decimal(value, what) + "s",
    "count": _count,
    "share": _decimal,
    "number": _decimal,
}


def _value(kind, value, what):
    """Returns the value of an option as the library reads it; None: not set."""
    if kind == "duration" and isinstance(value, (int, float)) and 0 < value < 0.0005:
        raise ArgumentError(f"{what}: {value!r} s is less than a millisecond")
    if kind in _WRITERS and not isinstance(value, str):
        return encoded(_WRITERS[kind](value, what), what)
    if kind in ("names", "choice"):
        return _joined(value, what)
    return encoded(value, what)


def _quoted(value):
    return b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _key(name, what):
    if not isinstance(name, str) or not name.isascii() or not name.replace("_", "x").isalnum():
        raise ArgumentError(f"{what}: {name!r} is no name of an option: letters, digits and '_'")
    return name.encode()


def _parts(kind, key, value, what):
    """Returns an option as parts of a text: none, one, or one for each label."""
    name = _key(key.rpartition(".")[2], what)
    if kind == "labels":
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(f"{what}: a dict of names and values is wanted, such as {{'team': 'a'}}")
        return [_key_of_label(key, label, what) + b"=" + _quoted(encoded(str(text_), what)) for label, text_ in
                dict(value).items()]
    if kind == "flag":
        return [key.encode()] if value else []
    if kind is None:  # unknown: the library's error suggests the nearest option
        return [key.encode() + b'=""'] if name else []
    written = _value(kind, value, what)
    return [key.encode() + b"=" + _quoted(written)] if written is not None else []


def _key_of_label(key, label, what):
    if not all(part.isascii() and part.replace("_", "x").isalnum() for part in str(label).split(".")):
        raise ArgumentError(f"{what}: {label!r} is no name of a label: letters, digits, '_' and '.'")
    return key.encode() + b"." + str(label).encode()


def text_of(owner, values, prefix=""):
    """Returns {key: value} of an owner as a text.

    A value of None is left out. An unknown option is kept by its name, so that the library can suggest the right one.
    """
    known, parts = table()[owner], []
    for key, value in values.items():
        if value is not None:
            parts += _parts(known.get(key), prefix + key, value, f"{owner}: {key}" if owner != "monitor" else key)
    return b",".join(parts)


def sink_text(sink, value):
    """Returns the options of a sink from the value of a user: the value of its main option, a dict, or True."""
    return text_of(sink, value if isinstance(value, dict) else {} if value is True else {sinks()[sink]: value})


# ---- places and times -------------------------------------------------------------------------------

_places: dict[str, Any] = {"set": None, "latest": None}


def set_place(place: Place | None) -> None:
    """Sets the location of the machine, for all monitors and conversions without one of their own.

    A place that is in no table gives a ResmonWarning: the world average is used. ArgumentError: a value is not valid.

    :param place: "FR", gCO2eq per kWh as a number, a dict as in Monitor(carbon=...), or None: as the environment sets
        it
    """
    if place is not None:
        found = CarbonIntensity.read(lib.carbon_find, byref(carbon_options(place)))  # raises ArgumentError if it is invalid
        given = place_of(place)
        named = given.get("country") or given.get("region") or given.get("cloud_region")
        if named and found.basis == "world":
            warn(f"the place {named!r} is in no table: the world average is used, {found.g_per_kwh:.0f} g/kWh")
    _places.update(set=place, latest=None)


def set_latest_place(place):
    """Stores the place of a monitor: notebooks without a place use the latest."""
    _places["latest"] = place


def current_place(in_notebook=False):
    """Returns the default place; None: as the environment and the site file set it."""
    return _places["latest"] if in_notebook and _places["set"] is None else _places["set"]


def milliseconds(seconds, what):
    """Converts seconds for an option in ms."""
    try:
        value = float(seconds) * 1000
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: {seconds!r} is not a time in seconds") from None
    if not 0 <= value < 2 ** 63:
        raise ArgumentError(f"{what}: {seconds!r} is not a time in seconds")
    if 0 < value < 1:
        raise ArgumentError(f"{what}: {seconds!r} s is less than a millisecond")
    return round(value)


def place_of(place):
    """Returns the location of the machine as a dict: "FR" is a country, a number is gCO2eq per kWh."""
    if isinstance(place, str):
        return {"country": place}
    if isinstance(place, (int, float)) and not isinstance(place, bool):
        return {"g_per_kwh": place}
    if not isinstance(place, Mapping):
        raise ArgumentTypeError(f"carbon: expected a country, gCO2eq per kWh, or a dict, not {type(place).__name__}")
    return dict(place)


def carbon_options(place):
    """Returns the location of the machine for functions that take a structure."""
    place = place_of(place)
    flags = {"codecarbon": _abi.CARBON_CODECARBON, "no_site": _abi.CARBON_NO_SITE}
    options = _abi.CarbonOptions(flags=_abi.CARBON_ZERO if place.get("g_per_kwh") == 0 else 0)
    known = {name for name, _ in _abi.CarbonOptions._fields_} - {"struct_size", "flags"} | set(flags)
    wrong = sorted(set(place) - known)
    if wrong:
        raise ArgumentError(f"carbon: unknown key {wrong[0]!r}; known: {', '.join(sorted(known))}")
    if place.get("pue") == 0:  # in the structure, 0 means that it is not given
        raise ArgumentError("carbon: pue: 0 is less than 1, the value of a site that uses energy only for its machines")
    for name, value in place.items():
        if name in flags:
            options.flags |= flags[name] if value else 0
        elif value is not None:
            set_field(options, name, value, f"carbon: {name}")
    return options
