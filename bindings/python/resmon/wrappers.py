# SPDX-License-Identifier: MIT
"""Wrappers of functions and blocks that report their measurements: timer, peak_rss, log_start_finish.

timer and peak_rss are decorators, with or without arguments, and context managers; log_start_finish is a decorator.
Their results are in the tree of scopes if a monitor has the scopes, in a line of the log, and in ``function.last``
(for a block: in the object itself).
"""
from __future__ import annotations

import os
import sys
import time
from _thread import get_ident
from ctypes import byref

from . import _abi, human
from ._library import lib
from .errors import ArgumentTypeError, warn
from .scopes import current_task, name_of, site_of, site_of_function, surround, uncover
from .stretches import is_failure, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from ._types import Block, Decorator, Log, P, R, Wrapped
else:
    def overload(_function):
        """Does nothing: other signatures are for type checkers."""

_SHORT = 10  # longest argument in a line, in characters


def announce(line):
    """Writes a line for people: to the logger "resmon" if logging is configured, otherwise to stderr.

    In a notebook it goes to stdout. The line is written in one piece, so that lines of several processes do not mix.
    """
    logging = sys.modules.get("logging")
    if logging is not None:
        logger = logging.getLogger("resmon")
        if logger.hasHandlers():
            logger.info(line)
            return
    # In a notebook stderr looks like a failure.
    stream = sys.stdout if "ipykernel" in sys.modules else sys.stderr
    if stream is None:
        return
    try:
        if stream is sys.__stderr__:
            # Bypasses its buffer: bytes that cannot be written would stay there, and fail again at exit.
            stream.flush()
            os.write(stream.fileno(), (line + "\n").encode(stream.encoding, "backslashreplace"))
        else:
            stream.write(line + "\n")
            stream.flush()
    except (OSError, ValueError):
        pass  # closed; the program goes on


def _writer_of(log):
    """Returns the function that gets the lines, or None."""
    if log is True:
        return announce
    if not log and not callable(log):
        return None
    if not callable(log):
        raise ArgumentTypeError(f"log: expected a function, True or False, not {type(log).__name__}")
    return log


class Finding:
    """The result of a wrapper.

    ``seconds``: wall time; ``running_seconds``: without the time in which the call was suspended; ``peak_bytes``:
    peak RSS (NaN: not measured or not known); ``is_exact``: whether the peak is exact; ``error``: name of the
    exception, or "".
    """

    __slots__ = ("name", "seconds", "running_seconds", "peak_bytes", "is_exact", "error")

    def __init__(self, name: str) -> None:
        self.name, self.error = name, ""
        self.seconds = self.running_seconds = self.peak_bytes = float("nan")
        self.is_exact = False

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"Finding({shown})"


class _Call:
    """One call, or block: a scope while it runs, and clocks."""

    __slots__ = ("_site", "_timed", "_began", "_resumed", "_running", "_target", "_write", "finding", "_stretches", "_outer",
                 "_has_run")

    meter = _abi.METER_WALL

    def __init__(self, site, name, target, write):
        self._site, self._target, self._write = site, target, write
        self.finding = Finding(name)
        self._timed = _abi.Timed()
        self._began = self._outer = None
        self._running = self._stretches = 0
        self._has_run = False

    def resume(self):
        self._resumed = time.perf_counter_ns()
        if self._began is None:
            self._began = self._resumed
        lib.timed_watch(self._site, self.meter, self._timed)
        if self._has_run:
            lib.scope_resumed(self._timed.scope)
        self._has_run = self._timed.scope != 0
        task = current_task()
        self._outer = surround(task) if task is not None else None

    def fail(self):
        """Marks the call or block as failed; called before suspend()."""
        lib.scope_fail(self._timed.scope)

    def suspend(self):
        if self._began is None:
            return
        uncover(self._outer)
        watched = _abi.Watched()
        lib.timed_take(self._timed, byref(watched))
        self._running += time.perf_counter_ns() - self._resumed
        self._stretches += 1
        self._take(watched)

    def _take(self, watched):
        """Takes further values of one stretch, besides its time."""

    def finish(self, error):
        finding = self.finding
        now = time.perf_counter_ns()
        finding.seconds = (now - (self._began or now)) / 1e9
        finding.running_seconds = self._running / 1e9
        finding.error = type(error).__name__ if error is not None else ""
        if self._target is not None:
            self._target.last = finding
        self._tell(self._line, finding)

    def _tell(self, line_of, *arguments):
        """Writes a line to the log; a log that fails gives a warning and does not fail the program."""
        if self._write is None:
            return
        try:
            self._write(line_of(*arguments))
        except Exception as error:  # pylint: disable=broad-except
            warn(f"the result of {self.finding.name} cannot be logged: {type(error).__name__}: {error}")

    def _line(self, finding):
        ran = f" (ran {finding.running_seconds:.4f} s in {self._stretches} stretches)" if self._stretches > 1 else ""
        if finding.error:
            return f"{finding.name} raised {finding.error} after {finding.seconds:.4f} s{ran}"
        return f"{finding.name} finished in {finding.seconds:.4f} s{ran}"


class _PeakCall(_Call):
    """A call or block with the exact peak of the RSS."""

    __slots__ = ()

    meter = _abi.METER_RSS

    def _take(self, watched):
        if watched.rss_provenance == _abi.PROVENANCE_NONE:
            return
        finding = self.finding
        is_first = finding.peak_bytes != finding.peak_bytes
        finding.is_exact = watched.rss_provenance == _abi.PROVENANCE_MEASURED and (is_first or finding.is_exact)
        finding.peak_bytes = watched.rss_peak_bytes if is_first else max(finding.peak_bytes, watched.rss_peak_bytes)

    def _line(self, finding):
        after = f", raised {finding.error}" if finding.error else ""
        if finding.peak_bytes != finding.peak_bytes:
            return f"{finding.name} peak RSS unknown{after}"
        kind = "exact" if finding.is_exact else "sampled"
        return f"{finding.name} peak RSS {human.bytes_text(finding.peak_bytes)} ({kind}){after}"


class _Wrapper:
    """A decorator with or without arguments, and a context manager."""

    _call = _Call

    def __new__(cls, function=None, **options):
        if function is None or isinstance(function, str):
            return super().__new__(cls)
        wrapper = super().__new__(cls)
        wrapper.__init__(**options)
        return wrapper(function)

    def __init__(self, name=None, *, log=True):
        self.name = name
        self.last = None
        self._blocks = {}  # open blocks, by thread
        self._write = _writer_of(log)

    def __call__(self, function):
        inner = getattr(function, "__func__", function)
        name = self.name or name_of(inner)
        target = _Last()
        result = wrapped(function, self._call, site_of_function(inner, name), name, target, self._write)
        target.function = getattr(result, "__func__", result)
        target.last = None
        return result

    def __enter__(self):
        if self.name is None:
            raise ArgumentTypeError(f"a block wants a name: with resmon.{type(self).__name__}('load'): ...")
        block = self._call(site_of(self.name), self.name, self, self._write)
        self._blocks.setdefault(get_ident(), []).append(block)
        block.resume()
        return block.finding

    def __exit__(self, _kind, error, _trace):
        thread = get_ident()
        blocks = self._blocks[thread]
        block = blocks.pop()
        if not blocks:
            del self._blocks[thread]
        if error is not None and is_failure(error):
            block.fail()
        block.suspend()
        block.finish(error)


class _Last:
    """Stores a finding as the attribute ``last`` of the function."""

    __slots__ = ("function",)

    def __setattr__(self, name, value):
        if name == "function":
            object.__setattr__(self, name, value)
        else:
            setattr(self.function, name, value)


if TYPE_CHECKING:  # classes that are called as these functions are
    @overload
    def timer(function: Callable[P, R]) -> Wrapped[P, R]: ...
    @overload
    def timer(name: str | None = ..., *, log: Log = ...) -> Block: ...
    def timer(*_: Any, **_options: Any) -> Any: ...

    peak_rss = timer
else:
    class timer(_Wrapper):  # pylint: disable=invalid-name
        """Reports how long a function or a block takes: "train finished in 1.2345 s".

        ::

            @resmon.timer
            def train(): ...

            train()
            print(train.last.seconds)

            with resmon.timer("load", log=False) as found:
                data = load()
            print(found.seconds)

        The result is a :class:`Finding`. ArgumentTypeError: a block without a name.

        :param name: default: the name of the function. A block needs a name
        :param log: function that gets the line, False for no line, or True (default): to the logger "resmon" if logging
            is configured, otherwise to stderr
        """

    class peak_rss(_Wrapper):  # pylint: disable=invalid-name
        """Reports the highest RSS of the process while a function or a block runs, from the high-water mark of the
        kernel.

        ::

            @resmon.peak_rss
            def fit(): ...

            fit()
            print(fit.last.peak_bytes, fit.last.is_exact)

            with resmon.peak_rss("load") as found:
                data = load()
            print(found.peak_bytes)

        The line has "(exact)" or "(sampled)": the peak is sampled where the mark cannot be reset. For a function that
        suspends itself, only the time in which it runs counts. Arguments and errors are those of :class:`timer`.
        """

        _call = _PeakCall


# ---- log_start_finish -------------------------------------------------------------------------------


def _shortened(value):
    try:
        shape = getattr(value, "shape", None)
        if shape is not None and not callable(shape) and not isinstance(value, type):
            shape = tuple(shape)
            kind = type(value).__name__.lower()
            return f"{kind}({shape[0]})" if len(shape) == 1 else f"{kind}{shape}"
        if isinstance(value, (str, bytes, bytearray)):
            value = value[:_SHORT + 1]  # avoids the text of a long value
        elif isinstance(value, (list, tuple, dict, set, frozenset)) and len(value) > 100:
            return f"{type(value).__name__}({len(value)})"
        shown = str(value)
    except Exception:  # pylint: disable=broad-except
        return f"<{type(value).__name__}>"
    return shown if len(shown) <= _SHORT else shown[:_SHORT - 1] + "\u2026"


def signature(name, args, kwargs):
    """Returns "fit(dataframe(1000, 5), depth=3)": arguments are shortened, arrays and frames shown by their shape."""
    shown = [_shortened(value) for value in args] + [f"{key}={_shortened(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(shown)})"


class _LoggedCall(_Call):
    __slots__ = ("_signature",)

    def __init__(self, site, name, target, write):
        super().__init__(site, name, target, write)
        self._signature = name + "()"

    def begin(self, args, kwargs):
        """Reports the start."""
        self._signature = signature(self.finding.name, args, kwargs)
        self._tell(lambda: f"{time.asctime()}: {self._signature} started.")

    def _line(self, finding):
        how = f"raised {finding.error} after" if finding.error else "finished in"
        return f"{time.asctime()}: {self._signature} {how} {finding.seconds:.2f} seconds."


class _Logging(_Wrapper):
    _call = _LoggedCall


@overload
def log_start_finish(function: Callable[P, R], *, name: str | None = ..., log: Log = ...) -> Wrapped[P, R]: ...
@overload
def log_start_finish(*, name: str | None = ..., log: Log = ...) -> Decorator: ...
def log_start_finish(function: Any = None, *, name: str | None = None, log: Log = True) -> Any:
    """Reports when a function starts and finishes, with its shortened arguments and its duration.

    :param name: default: the name of the function
    :param log: as for :class:`timer`
    """
    decorate = _Logging(name, log=log).__call__
    return decorate if function is None else decorate(function)
