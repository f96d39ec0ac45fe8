# SPDX-License-Identifier: MIT
"""Sinks of a monitor: sinks of the library, and callbacks."""
from __future__ import annotations

from _thread import get_ident, start_new_thread
from ctypes import byref

from . import _abi
from ._library import encoded, lib, take_text
from .errors import ArgumentTypeError, Error, StateError
from .options import sink_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import KeysView


def add(monitor, kind, value):
    """Adds the sink `kind` to a monitor; `value` is the value of its main option, or a dict of options."""
    if kind in ("mlflow", "pushgateway", "otlp"):
        from . import http_client
        monitor._is_sent_by_python |= http_client.provide()
    if kind == "mlflow":
        from .mlflow import Store, is_store, resolved
        value = resolved(value)
        if is_store(value):
            store = Store(value)
            value = store.options
            monitor._stores.append(store)
        else:
            monitor._servers.append(value.get("tracking_uri"))
    lib.monitor_add(monitor, kind.encode(), sink_text(kind, value))


# ---- callbacks --------------------------------------------------------------------------------------


class Sample:
    """A sample that is passed to a callback: ``sample.t_s`` seconds after the start, ``sample["proc.mem.rss"]``.

    Gauges are as read, counters are their growth since the start; NaN: the source was not read.
    """

    __slots__ = ("t_s", "values", "_indexes")

    def __init__(self, t_s, values, indexes):
        self.t_s, self.values, self._indexes = t_s, values, indexes

    def __getitem__(self, name: str) -> float:
        return self.values[self._indexes[name]]

    def __contains__(self, name: str) -> bool:
        return name in self._indexes

    def keys(self) -> KeysView[str]:
        """Returns the names of the columns."""
        return self._indexes.keys()

    def to_dict(self) -> dict[str, float]:
        """Returns all values by name."""
        return dict(zip(self._indexes, self.values))

    def __repr__(self):
        return f"Sample(t_s={self.t_s!r}, {len(self.values)} values)"


class _Callback:
    """A sink in Python.

    The library's thread calls it, and so waits for Python's global interpreter lock; the sampling does not wait.
    """

    def __init__(self, on_sample, on_stop, name):
        self._on_sample, self._on_stop = on_sample, on_stop
        self._indexes = {}
        self._threads = set()  # in which it is being called
        self.failure = ""
        self.index = None
        self.is_closed = False
        self.ops = _abi.SinkOps(name=encoded(name, "name"))
        for member, kind in self.ops._fields_:
            if member in ("start", "rows", "close") or member == "stop" and on_stop is not None:
                setattr(self.ops, member, kind(getattr(self, f"_{member}")))

    def is_in(self, thread):
        """Whether the thread is in a call of this callback."""
        return thread in self._threads

    def _guarded(self, function, *arguments):
        """Calls a function. Exceptions are counted; the first one is printed by threading.excepthook."""
        thread = get_ident()
        self._threads.add(thread)
        try:
            function(*arguments)
            return 0
        except BaseException as error:  # pylint: disable=broad-except
            is_first, self.failure = not self.failure, f"{type(error).__name__}: {_text_of(error)}"
            if is_first:
                _show(error)
            return _abi.EIO
        finally:
            self._threads.discard(thread)

    def _start(self, _context, run):
        def start():
            struct = _abi.Column()
            for index in range(lib.run_column_count(run)):
                lib.run_get_column(run, index, byref(struct))
                instance = struct.instance.decode("utf-8", "replace")
                name = struct.metric.decode("utf-8", "replace") + (f"[{instance}]" if instance else "")
                self._indexes[name] = index
        return self._guarded(start)

    def _rows(self, _context, rows):
        def each():
            given = rows[0]
            count = given.column_count
            for row in range(given.row_count):
                values = given.values[row * count:(row + 1) * count]
                self._on_sample(Sample(given.t_ns[row] / 1e9, values, self._indexes))
        return self._guarded(each)

    def _close(self, _context):
        self.is_closed = True

    def _stop(self, _context, run):
        def stop():
            # A copy: the library frees the run when this returns, and the monitor may be freed already.
            from .run import parse
            self._on_stop(parse(take_text(lib.run_document, run)))
        return self._guarded(stop)


def _text_of(error):
    try:
        return str(error)
    except Exception:  # pylint: disable=broad-except
        return "?"


def _show(error):
    import threading
    try:
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, None)))
    except Exception:  # pylint: disable=broad-except
        pass  # the program's hook fails, or stderr is closed


# Callbacks of monitors that are being freed. A callback that does not return outlives its monitor; it is kept until the
# library has closed the sink.
_let_go: set[_Callback] = set()


def add_callback(monitor, on_sample, on_stop, name):
    """Adds Python functions as a sink."""
    for function in (on_sample, on_stop if on_stop is not None else print):
        if not callable(function):
            raise ArgumentTypeError(f"a callback must be a function, not {type(function).__name__}")
    callback = _Callback(on_sample, on_stop, name)
    callback.index = lib.monitor_sink_count(monitor)
    lib.monitor_add_sink(monitor, byref(callback.ops), None)
    monitor._callbacks.append(callback)


def is_delivering(callbacks):
    """Whether this thread is in a call of one of the callbacks."""
    thread = get_ident()
    return any(callback.is_in(thread) for callback in callbacks)


def free_monitor(free, handle, callbacks, has_started):
    """Frees a monitor of which only the handle is left."""
    _let_go.update(callbacks)
    try:
        if has_started:
            lib.monitor_stop(handle)
    except StateError:
        # A callback released the last reference, or the garbage collector ran in it: a sink cannot free its own monitor.
        start_new_thread(free, (handle,))
        return
    except Error:
        pass  # it has stopped; there is no caller for the error
    free(handle)
    _let_go.difference_update([callback for callback in list(_let_go) if callback.is_closed])
