# SPDX-License-Identifier: MIT
"""Names for the phases of a program: ``with resmon.scope("training"): ...``, in one tree with those of C."""
import ctypes
import sys
from _thread import get_ident
from ctypes import byref, c_void_p

from . import _abi, tasks
from ._library import encoded, lib
from .errors import ArgumentError, ArgumentTypeError, NoSpaceError, warn
from .stretches import is_failure, wrapped
from .tasks import Stretch, TaskScope, around, begin, current_task, is_uninterrupted

_begin, _end, _fail, _resumed = lib.scope_begin, lib.scope_end, lib.scope_fail, lib.scope_resumed
_sites = {}  # by name: pointers that the library keeps for ever
_surplus = None  # the site of all names for which the library has no room


def site_of(name, file="", function="", line=0):
    """The library's site for a name and its place in the source."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"the name of a scope is a str, not {type(name).__name__}")
    if not name:
        raise ArgumentError("a scope wants a name, not an empty text")
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
    """The program goes on, and the library counts what it does not record (info.dropped_scopes)."""
    global _surplus  # pylint: disable=global-statement
    _surplus = _abi.Site(name=b"(a name too many)", file=b"", function=b"")
    warn(f"{full}, nor is any other new name: give scopes names that are of places in the program")
    return ctypes.addressof(_surplus)


def _site_of_caller(name):
    frame = sys._getframe(2)
    code = frame.f_code
    site = site_of(name, code.co_filename, code.co_name, frame.f_lineno)
    if _surplus is None:
        _sites[name] = site
    return site


def name_of(function):
    """What a function is called in results."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    return name.rpartition("<locals>.")[2]


def site_of_function(function, name):
    """The site of a function, with where it stands."""
    code = getattr(function, "__code__", None)
    if code is None:
        return site_of(name)
    return site_of(name, code.co_filename, code.co_name, code.co_firstlineno)


class scope:  # pylint: disable=invalid-name
    """A phase, as a context manager or a decorator.

    Without a monitor it costs next to nothing and records nothing.

    In a task of asyncio it lasts from its beginning to its end, with all that is awaited in it (``with``, ``async with``,
    a decorated ``async def``; of an asynchronous generator each step).  Scopes of tasks that run at the same time stand
    beside each other, below the scope in which the tasks were created.  They have no CPU time and no energy of their own:
    no thread is in them all the time.  A decorated function that is not async has both, and so has a ``with`` in one, or
    in a notebook's cell that awaits nothing.

    A generator, and a coroutine without asyncio, is in the scope only while it runs.  It is one call; the further
    stretches in which it runs are ``resumed``, and the shortest, the longest and the deviation are of stretches.

    `under` is a handle (``resmon.here()``) of the scope that this one does a part of the work of, in another thread.
    """

    __slots__ = ("_site", "_token", "_name", "_under")

    def __init__(self, name, under=None):
        self._token = 0
        self._under = under
        try:
            self._site = _sites[name]
        except KeyError:
            self._site = _site_of_caller(name)
        self._name = name

    def __enter__(self):
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

    def __exit__(self, _kind, error, _trace):
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

    async def __aenter__(self):
        return self.__enter__()

    async def __aexit__(self, kind, error, trace):
        self.__exit__(kind, error, trace)

    def _enter_again(self, frame):
        """In use already, around this or in another thread or task: the tokens of each then, and under None the first."""
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

    def __call__(self, function):
        return wrapped(function, ScopeStretch, site_of_function(function, self._name))


class ScopeStretch(Stretch):
    """The stretches in which a call runs, as instances of a scope."""

    __slots__ = ("_site", "_has_run")

    def __init__(self, site):
        self._site = site
        self._has_run = False

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
        """Nothing is left to do."""

    @staticmethod
    def whole(site):
        """The scope of a call, or a step, of something async from its beginning to its end, begun; None outside of
        tasks, where there are stretches only."""
        task = current_task()
        opened = TaskScope() if task is not None else None
        return opened if opened is not None and opened.begin(site, task) else None
