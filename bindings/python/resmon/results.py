# SPDX-License-Identifier: MIT
"""Sequences and mappings of a run that print as tables: scopes, sources, tags, events, statistics."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import html, human
from ._abi import ENODEV, TABLE_HTML, TABLE_TEXT
from .errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar, overload

    from .records import Event, Scope, Source, Statistics, Tag

    _Record = TypeVar("_Record")
else:
    def overload(function):
        """Does nothing: other signatures are for type checkers."""
        return function

_NAN = float("nan")


def nearest(name, known, otherwise="; resmon.metrics() lists what can be"):
    """Returns ": did you mean ...?" with the nearest known names, or `otherwise` if there is none."""
    import difflib
    near = difflib.get_close_matches(str(name), known, 3, 0.6)
    return f": did you mean {' or '.join(map(repr, near))}?" if near else otherwise


class _List(Sequence["_Record"]):
    """A sequence of records."""

    def __init__(self, items: Iterable[_Record]) -> None:
        self._items = tuple(items)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> _Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Record]: ...
    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row for each record."""
        from .frames import frame_of_records
        return frame_of_records(self._items)


class _Table(_List["_Record"]):
    """A sequence of records with a table of its own."""

    def table(self) -> tuple[list[str], list[list[object]], int]:
        """Returns headers, rows, and the number of text columns from the left."""
        raise NotImplementedError

    def __repr__(self):
        return human.table_text(*self.table())

    def _repr_html_(self):
        return html.wrap(html.table(*self.table()))


def _kept(name):
    """Returns a name as the library stores it.

    A name of more than 63 bytes becomes its first 54 bytes, "~", and eight digits of a hash.
    """
    text = name.encode("utf-8", "replace")
    if len(text) <= 63:
        return name
    number = 0xcbf29ce484222325  # FNV-1a
    for byte in text:
        number = (number ^ byte) * 0x100000001b3 % 2 ** 64
    return f"{text[:54].decode('utf-8', 'ignore')}~{(number ^ number >> 32) % 2 ** 32:08x}"


class Scopes(_List["Scope"]):
    """The tree of scopes in preorder; ``scopes["train/epoch"]`` finds a scope by its path.

    A "/" in a name is "\\\\/" in a path; "/" alone also finds it if only one scope matches. NotFoundError: no such
    path.
    """

    def __init__(self, items: Iterable[Scope], printed: Callable[[int], str]) -> None:
        super().__init__(items)
        self._print = printed  # the library's table, in a form of resmon_report_table()

    @overload
    def __getitem__(self, index: int | str) -> Scope: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Scope]: ...
    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str):
            return super().__getitem__(index)
        for scope in self._items:
            if scope.path == index:
                return scope
        kept = "/".join(map(_kept, index.split("/")))
        meant = [scope for scope in self._items if scope.path.replace("\\/", "/").replace("\\\\", "\\") in (index, kept)]
        if len(meant) == 1:
            return meant[0]
        raise NotFoundError(f"there is no scope {index!r}; there are: " +
                            (", ".join(scope.path for scope in self._items[:20]) or "none"))

    def __repr__(self):
        return self._print(TABLE_TEXT).rstrip("\n") if self._items else "no scopes were recorded (one monitor at a time has them)"

    def _repr_html_(self):
        return html.wrap(self._print(TABLE_HTML))


class Sources(_Table["Source"]):
    """Sources of the values; ``sources.missing`` are those that could not be read, with the reason."""

    @property
    def missing(self) -> Sources:
        """Sources that are unavailable, except absent hardware."""
        return Sources(source for source in self._items if source.status not in (0, ENODEV))

    @property
    def remarks(self) -> Sources:
        """Sources with a remark: those that are missing, and others with the reason for absent values."""
        return Sources(source for source in self._items if source.reason and source.status != ENODEV)

    def table(self):
        rows = [[source.name, "yes" if source.available else "no", source.provenance, source.reason,
                 human.count_text(source.reads), human.count_text(source.failures),
                 human.seconds_text(source.cost_s / source.reads if source.reads else _NAN)] for source in self._items]
        return ["source", "available", "quality", "remark", "reads", "failures", "cost of one"], rows, 4


class Tags(_Table["Tag"]):
    """The tags of a run, oldest first."""

    def table(self):
        return ["label", "at"], [[tag.label, human.seconds_text(tag.t_s)] for tag in self._items], 1


class Events(_Table["Event"]):
    """Individual scope instances."""

    def table(self):
        rows = [[event.name, event.thread_name or event.thread_id, human.seconds_text(event.start_s),
                 human.seconds_text(event.duration_s)] for event in self._items]
        return ["scope", "thread", "start", "duration"], rows, 2


class Summary(Mapping[str, "Statistics"]):
    """Statistics over every sample by name: ``summary["proc.mem.rss"].max``.

    Printed, it is the brief report of the library; :meth:`text` also returns the full one. NotFoundError: the metric
    was not measured.
    """

    def __init__(self, statistics, report):
        self._statistics = statistics
        self._report = report

    def text(self, full: bool = False, width: int | None = None) -> str:
        """Returns the report of the run.

        :param full: True: all values; default: one screen
        :param width: columns, at least 60; default: the width of the terminal, otherwise 100
        """
        return self._report(full, width).rstrip("\n")

    def __getitem__(self, name: str) -> Statistics:
        try:
            return self._statistics[name]
        except KeyError:
            raise NotFoundError(f"nothing called {name!r} was measured{nearest(name, self._statistics)}") from None

    def __contains__(self, name):
        return name in self._statistics  # Mapping's waits for a KeyError, as its get() does

    def get(self, name, default=None):
        """Returns the statistics of a name, or `default`."""
        return self._statistics.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._statistics)

    def __len__(self) -> int:
        return len(self._statistics)

    def __repr__(self):
        return self.text()

    def table(self) -> tuple[list[str], list[list[object]], int]:
        rows = []
        for name, one in self._statistics.items():
            per = "/s" if one.is_counter else ""
            texts = [human.text_of(value, one.unit, per) for value in (one.min, one.mean, one.p95, one.max)]
            rows.append([name, *texts, human.text_of(one.last, one.unit)])
        return ["metric", "min", "mean", "p95", "max", "last or total"], rows, 1

    def _repr_html_(self):
        return html.wrap(html.table(*self.table()))

    def to_pandas(self) -> Any:
        """Returns a DataFrame with a row for each metric."""
        from .frames import frame_of_records
        return frame_of_records(list(self._statistics.values()), index=list(self._statistics))
