# SPDX-License-Identifier: MIT
"""Names for the phases of a program: ``with resmon.scope("training"): ...``, in one tree with those of C."""
import ctypes
import sys
from _thread import get_ident
from ctypes import byref, c_void_p

from . import _abi
from ._library import encoded, lib
from .errors import ArgumentError, NoSpaceError, ResmonWarning
from .stretches import wrapped

_begin, _end = lib.scope_begin, lib.scope_end
_sites = {}  # by name: pointers that the library keeps for ever
_surplus = None  # the site of all names for which the library has no room


def site_of(name, file="", function="", line=0):
    """The library's site for a name and its place in the source."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a scope is a str, not {type(name).__name__}")
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
    import warnings
    warnings.warn(f"{full}, nor is any other new name: give scopes names that are of places in the program",
                  ResmonWarning, stacklevel=5)
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

    Without a monitor it costs next to nothing and records nothing.  A function that suspends itself (async, a
    generator) is in the scope only while it runs: there are as many calls as stretches.  In a ``with`` statement of
    such a function, no other task should run in the meantime: decorate the function instead.
    """

    __slots__ = ("_site", "_token", "_name")

    def __init__(self, name):
        self._token = 0
        try:
            self._site = _sites[name]
        except KeyError:
            self._site = _site_of_caller(name)
        self._name = name

    def __enter__(self):
        if self._token:
            self._enter_again()
        else:
            self._token = _begin(self._site)
        return self

    def __exit__(self, _kind, _error, _trace):
        token = self._token
        if token.__class__ is dict:
            token = self._exit_again()
        else:
            self._token = 0
        _end(token)

    def _enter_again(self):
        """In use already, around this or in another thread: the tokens of each thread then, and under None the first."""
        if self._token.__class__ is not dict:
            self._token = {None: [self._token]}
        self._token.setdefault(get_ident(), []).append(_begin(self._site))

    def _exit_again(self):
        tokens, thread = self._token, get_ident()
        if thread not in tokens:
            thread = None
        token = tokens[thread].pop()
        if not tokens[thread]:
            del tokens[thread]
        self._token = tokens or 0
        return token

    def __call__(self, function):
        return wrapped(function, ScopeStretch, site_of_function(function, self._name))


class ScopeStretch:
    """The stretches in which a call runs, as instances of a scope."""

    __slots__ = ("_site", "_token")

    def __init__(self, site):
        self._site = site

    def resume(self):
        self._token = _begin(self._site)

    def suspend(self):
        _end(self._token)

    def finish(self, error):
        """Nothing is left to do."""
