# SPDX-License-Identifier: MIT
"""Time and memory for each line of a function: @profile_lines and @profile_memory.

::

    @resmon.profile_lines
    def step(batch): ...

    step(batch)
    print(step.lines)       # the table; it has .rows, .to_pandas() and .clear()

Tables that were not read are printed when the interpreter exits. The events come from line_trace.py; line_track.py
keeps the values and line_table.py shows them.
"""
from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import types
import warnings
import weakref

from . import line_trace
from .errors import ArgumentTypeError
from .line_table import LineMemory, LineTimes
from .line_trace import enter, leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from ._types import LineDecorator, P, Profiled, R, Stream
else:
    def overload(_function):
        """Does nothing: other signatures are for type checkers."""

__all__ = ["profile_lines", "profile_memory", "print_lines", "LineTimes", "LineMemory"]

# A function that is defined again from the same code (a nested one, on every call of the outer one) goes on with
# its table.
_tables: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()  # (type of table, id(code)) -> table
_begun: dict[int, Any] = {}  # id -> table, those with something to show, in the order in which they began
_lock = threading.RLock()  # guards both

MAX_TABLES = 1000  # kept for the exit; a program that makes functions without end must not fill its memory
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


def _decorate(function: Any, make_table: Any, **options: Any) -> Any:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(_decorate(function.__func__, make_table, **options))
    inner = _innermost(function)
    if inner is None:
        name = "profile_lines" if make_table is LineTimes else "profile_memory"
        raise ArgumentTypeError(f"{name}() needs a function written in Python, not {function!r}: "
                        "put it directly above the def")
    table = _table(inner, make_table)
    for name, value in options.items():
        setattr(table, name, value)
    kind = _kind(_callee(function))
    if kind is _call and _kind(inner) is not _call:
        warnings.warn(f"{inner.__qualname__}() runs only after the decorators above it have returned: it is not "
                      "profiled unless profile_lines or profile_memory is directly above its def", stacklevel=3)
    wrapper: Any = functools.wraps(function)(kind(table._recorder, function))
    wrapper.lines = table
    return wrapper


def _callee(function):
    while isinstance(function, (functools.partial, types.MethodType)):
        function = function.func if isinstance(function, functools.partial) else function.__func__
    return function


def _innermost(function):
    """Returns the function to be profiled, below other decorators; None if there is none."""
    inner = None
    seen = set()
    while id(function) not in seen:
        seen.add(id(function))
        function = _callee(function)
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


# Wrappers: each runs the function once, with the arguments as they came. They are generators and coroutines where
# the function is, because that is what inspect and asyncio ask about.


def _kind(function):
    flags = function.__code__.co_flags if isinstance(function, types.FunctionType) else 0
    if flags & 0x200:  # inspect.CO_ASYNC_GENERATOR and so on; inspect costs more to import than all of this
        return _async_generator
    if flags & 0x80:
        return _coroutine
    if flags & 0x100:
        return _awaited_generator
    return _generator if flags & 0x20 else _call


def _call(recorder, function):
    def wrapper(*args, **kwargs):
        track = recorder.track()
        depth = len(track.paused)
        try:
            enter(track, depth)
            return function(*args, **kwargs)
        finally:
            try:
                leave(track, depth)
            except BaseException:  # an interrupt that came in here
                leave(track, depth)
                raise
    return wrapper


def _generator(recorder, function):
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        with _Steps(recorder, generator, "gi_frame") as steps:
            return (yield from steps.of(generator))
    return wrapper


def _awaited_generator(recorder, function):
    return types.coroutine(_generator(recorder, function))


def _coroutine(recorder, function):
    async def wrapper(*args, **kwargs):
        coroutine = function(*args, **kwargs)
        with _Steps(recorder, coroutine, "cr_frame") as steps:
            return await steps.of(coroutine)
    return wrapper


def _async_generator(recorder, function):
    async def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        with _Steps(recorder, generator, "ag_frame") as steps:
            try:
                value = await steps.of(_first(generator))
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await steps.of(generator.aclose())
                        raise
                    except BaseException as error:
                        value = await steps.of(generator.athrow(error))
                    else:
                        value = await steps.of(generator.asend(sent))
            except StopAsyncIteration:
                return
    return wrapper


def _first(generator):
    # The event loop closes the wrapper when it shuts down, and the wrapper this one: not both at once.
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return generator.__anext__()
    finally:
        sys.set_asyncgen_hooks(*hooks)


class _Steps:
    """Runs a generator or coroutine from one suspension to the next, and counts only while it runs.

    The events stay enabled in between: switching them costs more for longer functions.
    """

    __slots__ = ("recorder", "owner", "frame", "target", "is_started", "is_monitored")

    def __init__(self, recorder, owner, frame):
        self.recorder = recorder
        self.owner = owner
        self.frame = frame  # the attribute of the owner that has its frame
        self.is_started = False
        self.is_monitored = None

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        try:
            line_trace.monitor.stop(self.recorder.code, self)
        except BaseException:
            line_trace.monitor.stop(self.recorder.code, self)
            raise

    def of(self, target):
        self.target = target
        return self

    def __iter__(self):
        return self

    __await__ = __iter__

    def __next__(self):
        return self.send(None)

    def send(self, value):
        return self.step(self.target.send, (value,))

    def throw(self, *exc_info):
        return self.step(self.target.throw, exc_info, True)

    def close(self):
        return self.step(self.target.close, (), True)

    def step(self, method, arguments, is_throw=False):
        frame = getattr(self.owner, self.frame) if self.is_started else None
        line = None if frame is None else frame.f_lineno
        if not self.is_started:
            self.is_started = True
            self.is_monitored = line_trace.monitor.start(self.recorder.code, self)
        track = self.recorder.track()
        depth = len(track.paused)
        try:
            enter(track, depth, line, is_throw, self.is_monitored)
            return method(*arguments)
        finally:
            try:
                leave(track, depth)
            except BaseException:
                leave(track, depth)
                raise


# What is printed at the end.


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
    # Its workers leave without atexit (until Python 3.13), but run its own finalizers.
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
    except (AttributeError, OSError, ValueError):  # no stdout, a closed one, nobody who reads it
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
