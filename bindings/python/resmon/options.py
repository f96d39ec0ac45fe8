# SPDX-License-Identifier: MIT
"""Options as people write them, as the library takes them: names as bits, seconds as milliseconds, places."""
from . import _abi
from ._library import set_field


def combined(names, table, what):
    """"process+tree", or a sequence of names, as bits."""
    bits = 0
    for name in names.replace(",", "+").split("+") if isinstance(names, str) else names:
        if name.strip() not in table:
            raise ValueError(f"{what}: there is no {name!r}; there are {', '.join(table)}")
        bits |= table[name.strip()]
    if not bits:
        raise ValueError(f"{what}: none is named; there are {', '.join(table)}")
    return bits


def milliseconds(seconds, what):
    """Seconds for an option in ms."""
    try:
        value = float(seconds) * 1000
    except (TypeError, ValueError):
        raise ValueError(f"{what}: {seconds!r} is no time in seconds") from None
    if not 0 <= value < 2 ** 63:
        raise ValueError(f"{what}: {seconds!r} is no time in seconds")
    if 0 < value < 1:
        raise ValueError(f"{what}: {seconds!r} s is less than a millisecond")
    return round(value)


def carbon_options(place):
    """Where the machine stands: "FR", gCO2eq per kWh as a number, or {"country": "FR", "region": ..., "pue": 1.2}."""
    if isinstance(place, str):
        place = {"country": place}
    elif isinstance(place, (int, float)):
        place = {"g_per_kwh": place}
    place = dict(place)
    flags = place.pop("flags", 0)
    if place.get("g_per_kwh") == 0:
        flags |= _abi.CARBON_ZERO
    known = {name for name, _ in _abi.CarbonOptions._fields_} - {"struct_size", "flags"}
    wrong = sorted(set(place) - known)
    if wrong:
        raise ValueError(f"carbon: there is no {wrong[0]!r}; there are {', '.join(sorted(known))}")
    options = _abi.CarbonOptions(flags=flags)
    for name, value in place.items():
        if value is not None:
            set_field(options, name, value, f"carbon: {name}")
    return options
