# SPDX-License-Identifier: MIT
"""What energy means: gCO2eq, kWh and litres of water, where the machine stands."""
from ctypes import byref

from . import _abi, records
from ._library import lib
from .options import carbon_options, current_place, set_place

__all__ = ["Cost", "Intensity", "cost", "intensity", "set_place"]


class Intensity(records.Record):
    """What is known of a place: g_per_kwh, pue, wue, and whose figure it is."""

    __slots__ = records._slots(_abi.CarbonIntensity)
    _shown = ("g_per_kwh", "place", "year", "basis", "source")


class Cost(records.Record):
    """What an amount of energy costs; coal, gas and petroleum are alternatives, never to be summed."""

    __slots__ = records._slots(_abi.CarbonCost)
    _shown = ("it_kwh", "facility_kwh", "gco2eq", "water_l")


def _options(place):
    place = current_place() if place is None else place
    return byref(carbon_options(place)) if place is not None else None


def intensity(place=None):
    """The carbon intensity at a place, "FR" or a dict as in Monitor(carbon=...); None: that of set_place(), else as the
    environment says."""
    struct = _abi.CarbonIntensity()
    lib.carbon_find(_options(place), byref(struct))
    return Intensity.of(struct)


def cost(joules, place=None):
    """What so many joules cost at a place."""
    struct = _abi.CarbonCost()
    lib.carbon_convert(joules, _options(place), byref(struct))
    return Cost.of(struct)
