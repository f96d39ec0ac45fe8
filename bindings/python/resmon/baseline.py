# SPDX-License-Identifier: MIT
"""What work drew beyond what the machine draws anyway, with a confidence interval."""
from ctypes import byref, c_void_p

from . import _abi, records
from ._library import lib, take_text
from .run import Run


class Compared(records.Record):
    """A quantity of the work, of idling for the same time, and the difference with its interval."""

    __slots__ = tuple(name for name, _ in _abi.Compared._fields_)


class Comparison(records.Record):
    """Work against idling: energy_j, power_w, gco2eq, kgco2eq_year, each a :class:`Compared`; ``statement`` says it."""

    __slots__ = records._slots(_abi.Comparison, "text")
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


def measure_idle(seconds):
    """Records the machine while this thread sleeps: a Run to compare with."""
    handle = c_void_p()
    lib.measure_idle(seconds, None, byref(handle))
    return Run._own(handle)


def _handles(runs):
    runs = [run._get_run() for run in (runs if isinstance(runs, (list, tuple)) else [runs])]
    return runs, (c_void_p * max(len(runs), 1))(*(run._as_parameter_ for run in runs))


def compare(work, idle, hours_per_day=0.0, days_per_year=0.0):
    """Compares one or several runs of the work with one or several of idling."""
    work, work_handles = _handles(work)
    idle, idle_handles = _handles(idle)
    options = _abi.ComparisonOptions(hours_per_day=hours_per_day, days_per_year=days_per_year)
    struct = _abi.Comparison()
    lib.compare_runs(work_handles, len(work), idle_handles, len(idle), byref(options), byref(struct))
    return Comparison.of(struct)
