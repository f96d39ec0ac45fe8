# SPDX-License-Identifier: MIT
"""The contents of the library's page about runs as objects, for the PDF report and for notebooks."""
import json
from ctypes import byref

from . import _abi
from ._library import encoded, handles_of, lib, take_text

UNKNOWN = "-"


class Missing(str):
    """"-", with its reason."""

    reason = ""


class Share(str):
    """A text with a bar behind it: ``share`` of the whole, and ``inner`` of that, both from 0 to 1."""

    share = inner = 0.0


def _cell(data):
    if isinstance(data, str):
        return data
    if "reason" in data:
        cell = Missing(data["text"])
        cell.reason = data["reason"]
    else:
        cell = Share(data["text"])
        cell.share, cell.inner = data["share"], data["inner"]
    return cell


class Table:
    """Headers, rows of texts, and the number of text columns from the left; ``wide``: columns of long text."""

    __slots__ = ("key", "title", "headers", "rows", "left", "wide", "notes")

    def __init__(self, key, title, headers, rows, left=1, wide=(), notes=()):
        self.key, self.title, self.headers, self.rows = key, title, headers, rows
        self.left, self.wide, self.notes = left, wide, notes


class Line:
    """A series of a chart: ``times``, ``mean`` and, if there is a band, ``low`` and ``high``; None in them is a gap.

    ``said`` is the summary of the whole run. ``is_level``: a bound, not a use. A ``colour`` below 0: a limit.
    """

    __slots__ = ("key", "label", "colour", "is_level", "said", "run", "top", "times", "mean", "low", "high")

    def __init__(self, data):
        for name in self.__slots__:
            setattr(self, name, data[name])


class Chart:
    """Lines that share an axis; ``missing`` is the reason if there are none."""

    __slots__ = ("key", "title", "unit", "note", "missing", "has_points", "lines")

    def __init__(self, data):
        for name in self.__slots__[:-1]:
            setattr(self, name, data[name])
        self.lines = [Line(line) for line in data["lines"]]


class Part:
    """A run of a page, or the comparison of all runs."""

    def __init__(self, data):
        self.label, self.seconds, self.offsets = data.get("label", ""), data.get("seconds", 0.0), data.get("offsets")
        self.meta = data["meta"]
        self.tiles, self.answers = data.get("tiles", []), data.get("answers", [])
        self.charts = [Chart(chart) for chart in data.get("charts", ())]
        self.quiet, self.tags = data.get("quiet", []), data.get("tags", [])
        self.tables = [Table(one["key"], one["title"], one["headers"], [list(map(_cell, row)) for row in one["rows"]],
                             one["left"], one["wide"], one["notes"]) for one in data.get("tables", ())]

    def table(self, key):
        """Returns the table with this key, or None."""
        return next((table for table in self.tables if table.key == key), None)


class Page:
    """The page about several runs: ``runs``, and ``all`` of them together (None for a single run)."""

    def __init__(self, data):
        self.title, self.runs = data["title"], [Part(run) for run in data["runs"]]
        self.all = Part(data["all"]) if "all" in data else None


def _options(form, title, plots, **more):
    return _abi.PageOptions(title=encoded(title, "title"), form=form, plots=encoded(",".join(plots), "plots") or None, **more)


def page_of(runs, parts=0, title=None, plots=()):
    """Returns the page about runs, or some parts of it; ``plots``: metrics that get a chart besides."""
    options = _options(_abi.PAGE_DATA, title, plots, parts=parts)
    return Page(json.loads(take_text(lib.report_page, handles_of(runs), len(runs), byref(options))))


def save(runs, path, form=_abi.PAGE_HTML, title=None, plots=()):
    """Writes the page to a file."""
    lib.report_save(handles_of(runs), len(runs), byref(_options(form, title, plots)), encoded(path, "path"))
