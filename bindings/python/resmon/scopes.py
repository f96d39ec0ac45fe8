# SPDX-License-Identifier: MIT
"""Scopes, the named phases of a program: ``with resmon.scope("training"): ...``, in one tree with scopes of C.

A scope in an asyncio task stays open while other tasks run. It cannot be on the thread's stack of scopes, because scopes
of the other tasks would then be inside it. It is a task of the library. Its handle is in a context variable, which
asyncio passes to the tasks that are created in it, and ``asyncio.to_thread`` to the thread.
"""
from __future__ import annotations

import ctypes
import sys
from _thread import get_ident
from contextvars import ContextVar
from ctypes import byref, c_void_p
from opcode import opmap
from sys import modules
from weakref import ref

from . import _abi
from ._library import encoded, lib
from .errors import ArgumentError, ArgumentTypeError, NoSpaceError, warn
from .stretches import is_failure, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

# ---- the scope that this thread or task is in ------------------------------------------------------

_begin, _begin_under, _end, _here = lib.scope_begin, lib.scope_begin_under, lib.scope_end, lib.scope_here
_fail, _resumed = lib.scope_fail, lib.scope_resumed
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


# ---- names and places ------------------------------------------------------------------------------

_sites: dict[str, int] = {}  # by name: pointers that the library keeps for ever
_surplus = None  # the site of all names that exceed the library's table


def site_of(name: Any, file: str = "", function: str = "", line: int = 0) -> Any:
    """Returns the library's site for a name and its place in the source."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"the name of a scope must be a str, not {type(name).__name__}")
    if not name:
        raise ArgumentError("the name of a scope must not be empty")
    if _surplus is not None:
        # The library's table stays full, and each further attempt would take memory.
        return _sites.get(name) or ctypes.addressof(_surplus)
    site = c_void_p()
    try:
        lib.site_intern_at(encoded(name, "scope"), encoded(file), encoded(function), line or 0, byref(site))
    except NoSpaceError as full:
        return _begin_surplus(full)
    return site.value


def _begin_surplus(full):
    """Begins to use one site for all further names, which are only counted (info.dropped_scopes)."""
    global _surplus  # pylint: disable=global-statement
    _surplus = _abi.Site(name=b"(a name too many)", file=b"", function=b"")
    warn(f"{full}; further new names are not recorded either: name scopes after places in the program, not after data")
    return ctypes.addressof(_surplus)


def _site_of_caller(name):
    frame = sys._getframe(2)
    code = frame.f_code
    site = site_of(name, code.co_filename, code.co_name, frame.f_lineno)
    if _surplus is None:
        _sites[name] = site
    return site


def name_of(function):
    """Returns the name of a function in results."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    return name.rpartition("<locals>.")[2]


def site_of_function(function, name):
    """Returns the site of a function, with its place in the source."""
    code = getattr(function, "__code__", None)
    if code is None:
        return site_of(name)
    return site_of(name, code.co_filename, code.co_name, code.co_firstlineno)


class scope:  # pylint: disable=invalid-name
    """Names a phase of the program, as a context manager or a decorator.

    ::

        with resmon.scope("load"):
            data = load()

        @resmon.scope("train")
        def train(data): ...

    A scope without a running monitor has almost no overhead and records nothing.

    In an asyncio task a scope lasts from its beginning to its end, including all awaits (``with``, ``async with``, a
    decorated ``async def``; for an asynchronous generator, each step). Scopes of tasks that run at the same time are
    beside each other, below the scope in which the tasks were created. They have no CPU time and no energy of their
    own, because no thread is in them all the time. A decorated function that is not async has both. So does a
    ``with`` block in such a function, or in a notebook cell that awaits nothing.

    A generator, or a coroutine without asyncio, is in the scope only while it runs. It counts as one call; the
    further stretches in which it runs are counted in ``resumed``. The shortest, the longest and the deviation are of
    stretches.

    :param name: name of the scope in results, not empty
    :param under: handle (:func:`resmon.here`) of the scope that this one works for, in another thread
    """

    __slots__ = ("_site", "_token", "_name", "_under")

    def __init__(self, name: str, under: int | None = None) -> None:
        self._token: Any = 0
        self._under = under
        try:
            self._site = _sites[name]
        except KeyError:
            self._site = _site_of_caller(name)
        self._name = name

    def __enter__(self) -> scope:
        if self._token:
            self._enter_again(sys._getframe(1))
        elif self._under is None and around() is None and running_loop() is None:
            self._token = _begin(self._site)
        else:
            self._token = self._begin(sys._getframe(1))
        return self

    def _begin(self, frame):
        task = current_task()
        if task is None:
            return begin(self._site, self._under)
        if self._under is None and is_uninterrupted(frame):
            stretch = Stretch()
            stretch.begin_stretch(self._site)
            return stretch
        opened = TaskScope()
        return opened if opened.begin(self._site, task, self._under) else 0

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None,
                 _trace: TracebackType | None) -> None:
        token = self._token
        if token.__class__ is dict:
            token = self._exit_again()
        else:
            self._token = 0
        if token.__class__ is int:
            if error is not None and is_failure(error):
                _fail(token)
            _end(token)
        else:
            if error is not None and is_failure(error):
                token.fail()
            token.end()

    async def __aenter__(self) -> scope:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def _enter_again(self, frame):
        """Enters a scope object that is already in use, around this one or in another thread or task.

        Keeps the tokens of each thread or task; the first one has the key None.
        """
        if self._token.__class__ is not dict:
            self._token = {None: [self._token]}
        self._token.setdefault(current_task() or get_ident(), []).append(self._begin(frame))

    def _exit_again(self):
        tokens, user = self._token, current_task() or get_ident()
        if user not in tokens:
            user = None
        token = tokens[user].pop()
        if not tokens[user]:
            del tokens[user]
        self._token = tokens or 0
        return token

    def __call__(self, function: _Function) -> _Function:
        result: Any = wrapped(function, ScopeStretch, site_of_function(function, self._name))
        return result


class ScopeStretch(Stretch):
    """The stretches in which a call runs, as instances of a scope."""

    __slots__ = ("_site", "_has_run")

    def __init__(self, site):
        self._site = site
        self._has_run = False
        self._token, self._outer = 0, None

    def resume(self):
        if around() is None and running_loop() is None:
            self._token, self._outer = _begin(self._site), None
        else:
            self.begin_stretch(self._site)
        if self._has_run:
            _resumed(self._token)
        self._has_run = self._token != 0

    def suspend(self):
        if self._outer is None:
            _end(self._token)
        else:
            self.end_stretch()

    def finish(self, error):
        """Does nothing: no work is left."""

    @staticmethod
    def whole(site):
        """Begins the scope of a whole async call or step, from its beginning to its end.

        Returns None outside of tasks, where there are only stretches.
        """
        task = current_task()
        opened = TaskScope() if task is not None else None
        return opened if opened is not None and opened.begin(site, task) else None
