# SPDX-License-Identifier: MIT
"""Scopes, the named phases of a program: ``with resmon.scope("training"): ...``, in one tree with those of C."""
from __future__ import annotations

import ctypes
import sys
from _thread import get_ident
from ctypes import byref, c_void_p

from . import _abi, tasks
from ._library import encoded, lib
from .errors import ArgumentError, ArgumentTypeError, NoSpaceError, warn
from .stretches import is_failure, wrapped
from .tasks import Stretch, TaskScope, around, begin, current_task, is_uninterrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

_begin, _end, _fail, _resumed = lib.scope_begin, lib.scope_end, lib.scope_fail, lib.scope_resumed
_sites: dict[str, int] = {}  # by name: pointers that the library keeps for ever
_surplus = None  # the site of all names for which the library has no room


def site_of(name: Any, file: str = "", function: str = "", line: int = 0) -> Any:
    """Returns the library's site for a name and its place in the source."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"the name of a scope must be a str, not {type(name).__name__}")
    if not name:
        raise ArgumentError("the name of a scope must not be empty")
    if _surplus is not None:
        # There will never be room again, and asking costs memory each time.
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
        elif self._under is None and around() is None and tasks.running_loop() is None:
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

        Keeps the tokens of each user; those of the first user have the key None.
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
        if around() is None and tasks.running_loop() is None:
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
