# SPDX-License-Identifier: MIT
"""Converts energy to kWh, gCO2eq and liters of water, by the location of the machine."""
from __future__ import annotations

from ctypes import byref

from . import _generated_records as made
from ._library import lib
from .options import carbon_options, current_place, set_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Place

__all__ = ["Cost", "Intensity", "cost", "intensity", "set_place"]


class Intensity(made.CarbonIntensity):
    """Carbon intensity of a place: g_per_kwh, pue, wue, and the source of the value.

    ``basis`` is "given", "cloud", "region", "country" or "world" (the average, for an unknown place).
    """

    __slots__ = ()
    _shown = ("g_per_kwh", "place", "year", "basis", "source")


class Cost(made.CarbonCost):
    """Energy converted to kWh, gCO2eq and liters of water.

    coal_kg, natural_gas_kg and petroleum_kg are alternatives and must not be summed: kilograms of CO2 if all energy
    were made from this fuel.
    """

    __slots__ = ()
    _shown = ("it_kwh", "facility_kwh", "gco2eq", "water_l")


def _options(place):
    place = current_place() if place is None else place
    return byref(carbon_options(place)) if place is not None else None


def intensity(place: Place | None = None) -> Intensity:
    """Returns the carbon intensity at a place (:class:`Intensity`).

    :param place: "FR" or a dict as in Monitor(carbon=...). None: the place of set_place(), otherwise of the
        environment
    """
    return Intensity.read(lib.carbon_find, _options(place))


def cost(joules: float, place: Place | None = None) -> Cost:
    """Converts joules to kWh, gCO2eq and water at a place (:class:`Cost`).

    ArgumentError: joules is negative or not finite.

    :param place: as in :func:`intensity`
    """
    return Cost.read(lib.carbon_convert, joules, _options(place))
