# SPDX-License-Identifier: MIT
"""Finds the scope that this thread, or the asyncio task that it runs, is in.

A scope in a task stays open while other tasks run. It cannot be on the thread's stack of scopes, because scopes of
the other tasks would then be inside it. It is a task of the library. Its handle is in a context variable, which
asyncio passes to the tasks that are created in it, and ``asyncio.to_thread`` to the thread.
"""
from __future__ import annotations

from contextvars import ContextVar
from ctypes import byref, c_void_p
from opcode import opmap
from sys import modules
from weakref import ref

from . import _abi
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_begin, _begin_under, _end, _here = lib.scope_begin, lib.scope_begin_under, lib.scope_end, lib.scope_here
_fail = lib.scope_fail
_task_begin, _task_here, _task_end, _task_fail = lib.task_begin, lib.task_here, lib.task_end, lib.task_fail

# The handle of the innermost scope of a task and of those that it creates, with a weak reference to it; or None.
_around: ContextVar[Any] = ContextVar("resmon_scope", default=None)
around = _around.get


def running_loop():
    """Returns the asyncio event loop that this thread runs, or None, without importing asyncio."""
    global running_loop  # pylint: disable=global-statement,redefined-outer-name
    known = getattr(modules.get("asyncio.events"), "_get_running_loop", None)
    if known is None:
        return None
    running_loop = known
    return known()


def current_task():
    """Returns the asyncio task that this thread runs, or None."""
    loop = running_loop()
    return None if loop is None else modules["asyncio"].current_task(loop)


_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR
_ENTERS = opmap.get("BEFORE_WITH", opmap.get("SETUP_WITH"))  # Python 3.11 to 3.13; before; later ones have neither


def is_uninterrupted(frame):
    """Whether a context manager that `frame` just enters is left before another task runs.

    True for a ``with`` in a function that is not async, or in a notebook cell that awaits nothing. False: not known.
    """
    code = frame.f_code
    return not code.co_flags & _SUSPENDS and code.co_code[frame.f_lasti] == _ENTERS


def here() -> int:
    """Returns a handle of the scope that this thread or task is in, for ``scope(name, under=handle)`` in other
    threads.

    ::

        handle = resmon.here()

        def work(part):
            with resmon.scope("part", under=handle): ...

    The handle is an integer. It is 0 outside of scopes, and if nothing is measured.
    """
    outer = around()
    if current_task() is not None:
        return outer[0] if outer is not None else _here()
    return _here() or (outer[0] if outer is not None else 0)


def _place(task):
    """Returns the place of a scope that this task opens: the handle, and flags for the library."""
    outer = around()
    if outer is None:
        return _here(), 0  # of scopes around the event loop
    return outer[0], _abi.INSIDE if outer[1]() is task else 0


def begin(site, under=None):
    """Begins a scope on the thread's stack, or below `under`; returns the token for resmon_scope_end()."""
    if under is None:
        outer = around()
        if outer is None or _here():
            return _begin(site)
        under = outer[0]  # of the task that this thread works for
    return _begin_under(site, under, 0)


class TaskScope:
    """A scope of a task, from its begin() to its end()."""

    __slots__ = ("_task", "_outer")

    def begin(self, site, task, under=None):
        """Begins the scope in the running task; returns False if nothing is measured."""
        handle, flags = _place(task) if under is None else (under, 0)
        opened = c_void_p()
        _task_begin(site, handle, flags, byref(opened))
        self._task = opened.value
        if not self._task:
            return False
        self._outer = _around.set((_task_here(self._task), ref(task)))
        return True

    def fail(self):
        _task_fail(self._task)

    def end(self):
        uncover(self._outer)
        _task_end(self._task)


class Stretch:
    """A stretch of a call without interruption, on the thread's stack; inner scopes are below it."""

    __slots__ = ("_token", "_outer")

    def begin_stretch(self, site):
        """Begins the stretch, for the running task, if any."""
        task = current_task()
        if task is None:
            self._token, self._outer = begin(site), None
            return
        handle, flags = _place(task)
        self._token = _begin_under(site, handle, flags)
        self._outer = surround(task)

    def end_stretch(self):
        uncover(self._outer)
        _end(self._token)

    end = end_stretch

    def fail(self):
        """Marks the call as failed; before the end."""
        _fail(self._token)


def surround(task):
    """Places further scopes of the task inside the innermost scope on the thread's stack.

    Returns the argument for uncover().
    """
    handle = _here()
    return _around.set((handle, ref(task))) if handle else None


def uncover(outer):
    """Ends what surround() began."""
    if outer is not None:
        try:
            _around.reset(outer)
        except (ValueError, RuntimeError):
            pass  # begun in another context: an asynchronous generator that another task ends; or ended already
