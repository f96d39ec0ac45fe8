# SPDX-License-Identifier: MIT
"""Energy of work above that of the idle machine, and energy as kWh, gCO2eq and liters of water by the location."""
from __future__ import annotations

from ctypes import byref, c_void_p, pointer

from . import _abi
from . import _generated_records as made
from ._library import handles_of, lib, take_text
from .options import carbon_options, current_place, set_place
from .run import Recorded, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Place

__all__ = ["Compared", "Comparison", "Cost", "Intensity", "above_idle", "compare", "cost", "intensity", "measure_idle",
           "set_place"]


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


# ---- above idle ------------------------------------------------------------------------------------


class Compared(made.Compared):
    """A quantity of the work, of an idle period of the same time, and their difference with its 95 % interval.

    ``low`` and ``high`` are the ends of the interval; NaN: not known.
    """

    __slots__ = ()


class Comparison(made.Comparison):
    """The work compared with idle: ``energy_j``, ``power_w``, ``gco2eq``, ``kgco2eq_year``.

    Each of the four is a :class:`Compared`. ``statement`` is the result in plain words, ``remark`` has what limits
    it. ``is_significant``: the interval does not contain 0.
    """

    __slots__ = ("text",)
    _shown = ("statement",)

    @classmethod
    def of(cls, struct):
        comparison = super().of(struct)
        for name in ("energy_j", "power_w", "gco2eq", "kgco2eq_year"):
            setattr(comparison, name, Compared.of(getattr(struct, name)))
        comparison.text = take_text(lib.comparison_text, byref(struct))
        return comparison

    def __str__(self):
        return self.text.rstrip("\n")


def measure_idle(seconds: float, place: Place | None = None) -> Run:
    """Records the idle machine while this thread sleeps, and returns a :class:`~resmon.Run` to compare with.

    ::

        idle = resmon.measure_idle(60)
        with resmon.Monitor() as m:
            work()
        print(resmon.above_idle(m, idle))

    ArgumentError: ``seconds`` is out of its bounds.

    :param seconds: duration, above 0 to 604800 (a week)
    :param place: as for :func:`intensity`
    """
    handle, place = c_void_p(), current_place() if place is None else place
    carbon = carbon_options(place) if place is not None else None
    options = _abi.MonitorOptions(carbon=pointer(carbon)) if carbon is not None else None
    lib.measure_idle(seconds, byref(options) if options is not None else None, byref(handle))
    return Run._own(handle)


def _handles(runs: Recorded | Sequence[Recorded]) -> tuple[list[Run], Any]:
    found = [run._get_run() for run in ([runs] if isinstance(runs, Recorded) else runs)]
    return found, handles_of(found)


def above_idle(work: Recorded | Sequence[Recorded], idle: Recorded | Sequence[Recorded], hours_per_day: float = 0.0,
               days_per_year: float = 0.0) -> Comparison:
    """Compares one or several runs of the work with one or several idle runs, and returns a :class:`Comparison`.

    NotFoundError: a run has no energy values, or no component is known in all runs. RangeError: a run is shorter than
    0.1 s.

    :param work: a run or a monitor, or a list of them
    :param idle: runs or monitors of the idle machine
    :param hours_per_day: for kgco2eq_year: hours of work per day, at most 24; default 8
    :param days_per_year: for kgco2eq_year: days of work per year, at most 366; default 365
    """
    work_runs, work_handles = _handles(work)
    idle_runs, idle_handles = _handles(idle)
    options = _abi.ComparisonOptions(hours_per_day=hours_per_day, days_per_year=days_per_year)
    struct = _abi.Comparison()
    lib.compare_runs(work_handles, len(work_runs), idle_handles, len(idle_runs), byref(options), byref(struct))
    return Comparison.of(struct)


compare = above_idle  # former name
