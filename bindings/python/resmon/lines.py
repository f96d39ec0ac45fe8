# SPDX-License-Identifier: MIT
"""Time and memory for each line of a function: @profile_lines and @profile_memory.

::

    @resmon.profile_lines
    def step(batch): ...

    step(batch)
    print(step.lines)       # the table; it has .rows, .to_pandas() and .clear()

Tables are in the formats of line_profiler and memory_profiler. Those that were not read are printed when the
interpreter exits. The values come from line_trace.py. The source is read when a table is shown.
"""
from __future__ import annotations

import atexit
import functools
import linecache
import os
import sys
import threading
import types
import warnings
import weakref
from collections import namedtuple
from time import time

from . import line_trace
from .errors import ArgumentTypeError
from .line_trace import MemoryTrack, Recorder, TimeTrack, enter, leave
from .stretches import is_suspended, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from ._types import LineDecorator, P, Profiled, R, Stream
else:
    def overload(_function):
        """Does nothing: other signatures are for type checkers."""

__all__ = ["profile_lines", "profile_memory", "print_lines", "LineTimes", "LineMemory"]

# A function that is defined again from the same code, as a nested function on each call of the outer one, keeps its
# table.
_tables: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()  # (type of table, id(code)) -> table
_begun: dict[int, Any] = {}  # id -> table with values, in the order in which they began
_lock = threading.RLock()  # guards both

MAX_TABLES = 1000  # kept for the exit: a bound for programs that define functions without end
_dropped = 0


@overload
def profile_lines(function: Callable[P, R], /) -> Profiled[P, R]: ...
@overload
def profile_lines(*, unit: float = ..., stream: Stream = ...) -> LineDecorator: ...
def profile_lines(function: Any = None, /, *, unit: float = 1e-6, stream: Stream = None) -> Any:
    """Measures the time of each line of `function`, over all its calls; `function.lines` is the table.

    A decorator, with or without arguments. Put it directly above the def. It works on functions, methods, coroutines
    and generators. The time of a line includes the calls that it makes, but not another call of the same function.
    ArgumentTypeError: the function is not written in Python.

    :param unit: timer unit of the table, in seconds
    :param stream: where the table is printed at exit; default stdout
    """
    if function is None:
        return functools.partial(profile_lines, unit=unit, stream=stream)
    return _decorate(function, LineTimes, unit=unit, stream=stream)


@overload
def profile_memory(function: Callable[P, R], /) -> Profiled[P, R]: ...
@overload
def profile_memory(*, precision: int = ..., stream: Stream = ...) -> LineDecorator: ...
def profile_memory(function: Any = None, /, *, precision: int = 1, stream: Stream = None) -> Any:
    """Measures the resident memory of the process for each line of `function`; `function.lines` is the table.

    A decorator like profile_lines(). "Increment" is the sum of growth and release while the line ran. "Peak" is the
    highest RSS while it ran, also if the memory was released before the line ended.

    :param precision: number of decimals in the table
    :param stream: where the table is printed at exit; default stdout
    """
    if function is None:
        return functools.partial(profile_memory, precision=precision, stream=stream)
    return _decorate(function, LineMemory, precision=precision, stream=stream)


def print_lines(stream: Stream = None) -> None:
    """Prints every table that has values, to `stream` or by default to the stream of the table."""
    with _lock:
        tables = list(_begun.values())
    for table in tables:
        _print(table, stream)


# ---- functions -------------------------------------------------------------------------------


def _decorate(function: Any, make_table: Any, **options: Any) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorate(function.__func__, make_table, **options))
    inner = _innermost(function)
    if inner is None:
        name = "profile_lines" if make_table is LineTimes else "profile_memory"
        raise ArgumentTypeError(f"{name}() needs a function written in Python, not {function!r}: "
                        "put it directly above the def")
    if is_suspended(inner) and not is_suspended(function):
        warnings.warn(f"{inner.__qualname__}() runs only after the decorators above it have returned: it is not "
                      "profiled unless profile_lines or profile_memory is directly above its def", stacklevel=3)
    table = _table(inner, make_table)
    for name, value in options.items():
        setattr(table, name, value)
    wrapper = wrapped(function, _Call, table._recorder)
    wrapper.lines = table
    return wrapper


def _innermost(function):
    """Returns the function to be profiled, below other decorators; None if there is none."""
    inner = None
    seen = set()
    while id(function) not in seen:
        seen.add(id(function))
        while isinstance(function, (functools.partial, types.MethodType)):
            function = function.func if isinstance(function, functools.partial) else function.__func__
        if isinstance(function, types.FunctionType):
            inner = function
        function = getattr(function, "__wrapped__", function)
    return inner


def _table(inner, make_table):
    with _lock:
        table = _tables.get((make_table, id(inner.__code__)))
        if table is None:
            table = make_table(inner.__qualname__, inner.__code__, inner.__globals__)
            table.began = _began
            _tables[make_table, id(inner.__code__)] = table
        return table


class _Call:
    """The stretches in which a call runs; a coroutine or generator counts only in them."""

    tracer = track = inner = None

    def __init__(self, recorder):
        self.recorder = recorder

    def of(self, inner):
        self.inner = inner
        self.frame = next(name for name in ("gi_frame", "cr_frame", "ag_frame") if hasattr(inner, name))

    def resume(self):
        track, line = self.recorder.track(), None
        self.depth = len(track.paused)
        self.track = track
        if self.tracer is not None:
            # The line where it continues: Python sends no event if an exception is thrown into it.
            line = getattr(getattr(self.inner, self.frame), "f_lineno", None)
        elif self.depth == 0 or self.inner is not None:  # a plain call ends before the call around it
            for self.tracer in line_trace.tracers:  # known before it starts, so that finish() stops it
                if self.tracer.start(self.recorder.code, self):
                    break
        if self.depth == 0:
            track.tracer = self.tracer
        enter(track, self.depth, line)

    def suspend(self):
        if self.track is not None:
            leave(self.track, self.depth)
        if self.inner is None:
            self.finish(None)

    def fail(self):
        """Does nothing: the lines that ran are counted."""

    def finish(self, _error):
        if self.tracer is not None:
            self.tracer.stop(self.recorder.code, self)
            self.tracer = None


# ---- what is printed at the end ----------------------------------------------------------------


def _began(table):
    global _dropped
    with _lock:
        if id(table) in _begun:
            return
        if len(_begun) == MAX_TABLES:
            _dropped += 1
            return
        if not _begun:
            atexit.register(_at_exit)
            _join_multiprocessing()
        _begun[id(table)] = table


def _join_multiprocessing():
    # Workers of multiprocessing do not run atexit (until Python 3.13), but multiprocessing's own finalizers.
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process.parent_process() is not None:
        util.Finalize(None, _at_exit, exitpriority=-100)


def _at_exit():
    with _lock:
        tables = [table for table in _begun.values() if not table.is_seen]
    try:
        for table in tables:
            _print(table, None)
        if _dropped:
            _write(f"{_dropped} more functions were profiled; their tables were not kept.\n", sys.stdout)
    except (AttributeError, OSError, ValueError):  # stdout is missing, closed or a broken pipe
        pass


def _print(table, stream):
    if stream is None:
        stream = sys.stdout if table.stream is None else table.stream
    if table.has_figures():
        _write(f"{table}\n", stream)


def _write(text, stream):
    encoding = getattr(stream, "encoding", None)
    if encoding:
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    stream.write(text)
    stream.flush()


def _after_fork():
    """In the child, keeps only what the child runs: the parent prints its own tables."""
    global _lock, _dropped
    _lock = threading.RLock()
    _dropped = 0
    atexit.unregister(_at_exit)
    begun = {**_begun, **{id(table): table for table in _tables.values()}}
    _begun.clear()
    for table in begun.values():
        if table.after_fork():
            _began(table)
    line_trace.after_fork()


os.register_at_fork(after_in_child=_after_fork)


# ---- tables ----------------------------------------------------------------------------------


TimeRow = namedtuple("TimeRow", "line hits seconds text")
MemoryRow = namedtuple("MemoryRow", "line hits rss_bytes increment_bytes peak_bytes text")
MIB = 1 << 20


class LineTable:
    """Values for each line of one function, summed over its calls."""

    _track: Any
    _row_type: Any
    _row: Any
    _gap: str

    def __init__(self, name, code, module_globals):
        self.function = name
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self.is_seen = False  # the program has read the table, so it is not printed at exit
        self.stream = None  # where it goes at exit, stdout if None
        self.began = None  # called when a thread first runs the function
        self._globals = module_globals
        self._defined = time()
        self._recorder = Recorder(code, self._track, self._begin)

    def _begin(self):
        if self.began is not None:
            self.began(self)

    @property
    def rows(self) -> list[Any]:
        """The lines that ran, as named tuples."""
        self.is_seen = True
        source = self._source()
        return [self._row(line, figures, source.get(line, ""))
                for line, figures in self._recorder.totals().items() if figures[0]]

    def clear(self) -> None:
        """Deletes the values; the next call starts from zero."""
        self._recorder.clear()
        self.is_seen = False

    def has_figures(self) -> bool:
        """Returns whether a line ran."""
        return any(figures[0] for figures in self._recorder.totals().values())

    def after_fork(self):
        """Starts from zero in the child; returns whether the fork was inside the function."""
        self.is_seen = False
        return self._recorder.after_fork()

    def to_pandas(self) -> Any:
        """Returns the rows as a pandas.DataFrame."""
        from .frames import wanted
        return wanted("pandas", "to_pandas()").DataFrame(self.rows, columns=self._row_type._fields)

    def _shown(self):
        """Returns the rows that ran, and a line of the table for each of the source: number, cells, share, text."""
        rows, source = self.rows, self._source()
        cells, shares = dict(zip((row.line for row in rows), self._cells(rows))), self._shares(rows)
        blank = [""] * len(self._columns())
        texts = {**{row.line: "" for row in rows}, **source}
        return rows, [(line, cells.get(line, blank), shares.get(line, 0.0), texts[line]) for line in sorted(texts)]

    def __repr__(self):
        rows, shown = self._shown()
        columns = self._columns()
        widths = [max([width, *(len(cells[i]) for _, cells, _, _ in shown)]) for i, (_, width) in enumerate(columns)]

        def line_of(number, cells, text):
            return f"{number:>6}" + "".join(f" {cell:>{width}}" for cell, width in zip(cells, widths)) + self._gap + text
        heading = line_of("Line #", [name for name, _ in columns], "Line Contents")
        lines = [*self._title(rows), "", heading, "=" * len(heading)]
        lines += [line_of(line, cells, text).rstrip() for line, cells, _, text in shown]
        return "\n".join([*lines, "", *self._notes()])

    def _repr_html_(self):
        from html import escape
        rows, shown = self._shown()
        names = ["Line #", *(name for name, _ in self._columns())]
        heading = "".join(f'<th style="text-align:right;padding:0 .6em">{name}</th>' for name in names)
        body = []
        for line, cells, share, text in shown:
            bar = f"background:linear-gradient(to right,rgba(240,140,40,.35) {share:.1f}%,transparent {share:.1f}%)"
            numbers = "".join(f'<td style="text-align:right;padding:0 .6em">{cell.strip()}</td>' for cell in (str(line), *cells))
            body.append(f'<tr>{numbers}<td style="text-align:left;white-space:pre;{bar}">{escape(text)}</td></tr>')
        table = ('<table style="border-collapse:collapse;font-family:monospace;font-size:90%"><thead><tr>'
                 f'{heading}<th style="text-align:left;padding:0 .6em">Line Contents</th></tr></thead><tbody>\n'
                 + "\n".join(body) + "</tbody></table>")
        around = [[f"<div>{escape(line)}</div>" for line in lines if line] for lines in (self._title(rows), self._notes())]
        return "<div>" + "\n".join([*around[0], table, *around[1]]) + "</div>"

    def _source(self):
        """Returns {line: text} of the whole function; empty if the source cannot be found."""
        if os.path.exists(self.file) and not self._is_changed():
            linecache.checkcache(self.file)
        lines = linecache.getlines(self.file, self._globals)[self.first_line - 1:]
        if not lines:
            return {}
        from inspect import getblock
        try:
            lines = getblock(lines)
        except Exception:  # pylint: disable=broad-except  # the file changed, and what is there now need not be Python
            lines = lines[:self._last_line() - self.first_line + 1]
        return {self.first_line + i: line.rstrip() for i, line in enumerate(lines)}

    def _last_line(self):
        from dis import findlinestarts
        return max([self.first_line, *(line for _, line in findlinestarts(self._recorder.code) if line is not None)])

    def _is_changed(self):
        try:
            return os.stat(self.file).st_mtime > self._defined
        except OSError:
            return False

    def _notes(self):
        if not self._is_changed():
            return []
        return [f"{self.file} has changed since {self.function} was defined: the text may not be what ran.", ""]


class LineTimes(LineTable):
    """Time for each line, in the format of line_profiler."""

    _track = TimeTrack
    _row_type = TimeRow
    _gap = "  "

    def __init__(self, name, code, module_globals):
        super().__init__(name, code, module_globals)
        self.unit = 1e-6

    @staticmethod
    def _row(line, figures, text):
        return TimeRow(line, figures[0], max(figures[1], 0) / 1e9, text)

    def _title(self, rows):
        return [f"Timer unit: {self.unit:g} s", "", f"Total time: {sum(row.seconds for row in rows):g} s",
                f"File: {self.file}", f"Function: {self.function} at line {self.first_line}"]

    @staticmethod
    def _columns():
        return [("Hits", 9), ("Time", 12), ("Per Hit", 8), ("% Time", 8)]

    def _cells(self, rows):
        shares = self._shares(rows)
        return [[_fit("%d", "%g", row.hits, 9), _fit("%5.1f", "%5.3g", row.seconds / self.unit, 12),
                 _fit("%5.1f", "%5.3g", row.seconds / self.unit / row.hits, 8), "%5.1f" % shares[row.line]]
                for row in rows]

    @staticmethod
    def _shares(rows):
        total = sum(row.seconds for row in rows)
        return {row.line: 100 * row.seconds / total if total else 0.0 for row in rows}


class LineMemory(LineTable):
    """Memory for each line, in the format of memory_profiler, with the peak while the line ran."""

    _track = MemoryTrack
    _row_type = MemoryRow
    _gap = "   "

    def __init__(self, name, code, module_globals):
        super().__init__(name, code, module_globals)
        self.precision = 1

    def _row(self, line, figures, text):
        hits, rss, increment, peak = figures
        return MemoryRow(line, hits, rss, increment, None if self._recorder.no_peak else peak, text)

    def _title(self, _rows):
        return [f"Filename: {self.file}"]

    def _columns(self):
        peak = [] if self._recorder.no_peak else [("Peak", 12)]
        return [("Mem usage", 12), ("Increment", 12), *peak, (" Occurrences", 11)]

    def _cells(self, rows):
        return [[f"{size / MIB:{self.precision + 4}.{self.precision}f} MiB"
                 for size in (row.rss_bytes, row.increment_bytes, row.peak_bytes) if size is not None] + [str(row.hits)]
                for row in rows]

    def _shares(self, rows):
        # The row of the function itself has the memory before the call.
        grown = {row.line: max(row.increment_bytes, 0) for row in rows if row.line != self.first_line}
        total = sum(grown.values())
        return {line: 100 * figure / total if total else 0.0 for line, figure in grown.items()}

    def _notes(self):
        why = self._recorder.no_peak
        return ([f"No Peak: {why}", ""] if why else []) + super()._notes()


def _fit(form, short, figure, width):
    text = form % figure
    return text if len(text) <= width else short % figure
