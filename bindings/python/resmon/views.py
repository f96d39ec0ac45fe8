# SPDX-License-Identifier: MIT
"""The metrics of each view, with labels and units: the table of the library (lib/common/metric/views.def), as it was built."""
from collections import namedtuple
from functools import lru_cache

from . import _abi
from ._generated_records import Metric
from ._generated_records import View as Row
from ._library import lib

# Group of metrics without a row in the table: metrics of a newer library, or of a build with additions.
OTHER = "other"

_SERIES = _abi.WORDS["SERIES"]


class View(namedtuple("View", "view group metric label unit share_of divisor series colour level metric_unit help")):
    """A metric in a view; with an empty metric, the head of a group, whose title is the label.

    ``unit`` is the unit shown: the value in ``metric_unit`` / ``divisor``. ``series`` is "last", "min", "max", "mean"
    or "value"; for the view "node" it can be a number. ``colour`` is the color of a line, below 0 a bound. ``level``
    and ``help`` are of the metric.
    """

    __slots__ = ()

    @property
    def is_power(self):
        """Whether a counter of joules is shown in watts."""
        return self.unit == "W" and self.metric_unit == "J"


@lru_cache(maxsize=None)
def _metrics():
    """Returns {name: (level, unit, help)} of all metrics."""
    return {metric.name: (metric.level, metric.unit, metric.help) for metric in Metric.each(lib.metric_count, lib.metric_at)}


@lru_cache(maxsize=None)
def _table():
    return tuple(View(row.view, row.group, row.metric, row.label, row.unit, row.share_of, row.divisor,
                      _SERIES.get(row.series, row.series), row.colour, *_metrics().get(row.metric, ("", "", "")))
                 for row in Row.each(lib.view_count, lib.view_at))


@lru_cache(maxsize=None)
def rows(view, group=None):
    """Returns the rows of a view, or of one of its groups, in the order in which they are shown."""
    return tuple(row for row in _table() if row.view == view and row.metric and group in (None, row.group))


@lru_cache(maxsize=None)
def head(view, group):
    """Returns (title, unit) of a group."""
    return next((row.label, row.unit) for row in _table() if row.view == view and row.group == group and not row.metric)


@lru_cache(maxsize=None)
def groups(view):
    """Returns the groups of a view that have a head, in order."""
    return tuple(row.group for row in _table() if row.view == view and not row.metric)


def by_label(view, group):
    """Returns the rows of a group, as lists of alternatives: the first that was measured is shown."""
    found = {}
    for row in rows(view, group):
        found.setdefault(row.label, []).append(row)
    return list(found.values())
