# SPDX-License-Identifier: MIT
"""Finds and loads libresmon.so, and libresmon-reader.so when it is wanted, and declares its functions.

The library is, in this order: the file in the variable RESMON_LIBRARY; a library that this process has already
loaded; the one in the wheel; the one of the system. A C extension may have scopes of its own: there must be one
library, for one tree of scopes.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_void_p

from . import __path__, _abi
from .errors import ArgumentError, ArgumentTypeError, LibraryError, error_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SONAME = "libresmon.so.0"
READER_SONAME = "libresmon-reader.so.0"
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)


def _candidates():
    """Returns a list of (path, mode, name in messages)."""
    named = os.environ.get("RESMON_LIBRARY")
    if named:
        return [(named, ctypes.DEFAULT_MODE, f"RESMON_LIBRARY names {named}, which")]
    # The package has two directories when it is installed editable: the source's, and one with the library.
    own = [os.path.join(directory, SONAME) for directory in __path__]
    return [(SONAME, ctypes.DEFAULT_MODE | _RTLD_NOLOAD, f"{SONAME}, which this process has loaded already,"),
            *((path, ctypes.DEFAULT_MODE, path) for path in own if os.path.exists(path)),
            (SONAME, ctypes.DEFAULT_MODE, f"the system's {SONAME}")]


def _load():
    failures = []
    for path, mode, what in _candidates():
        try:
            library = ctypes.CDLL(path, mode=mode)
        except OSError as error:
            if not mode & _RTLD_NOLOAD:
                failures.append(f"{what} cannot be loaded: {str(error).replace(f'{path}: ', '', 1)}")
            continue
        return library, path, _checked_version(library, what)
    if not os.environ.get("RESMON_LIBRARY"):
        failures.append("install the package with its library (pip install ./bindings/python), or name a library in "
                        "the variable RESMON_LIBRARY")
    raise LibraryError("; ".join(failures))


def _checked_version(library, what):
    try:
        library.resmon_version.restype = c_char_p
        found = library.resmon_version().decode("ascii", "replace")
    except AttributeError:
        raise LibraryError(f"{what} is no libresmon: it has no resmon_version()") from None
    wanted = f"{_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}"
    if found.split(".")[:2] != wanted.split("."):
        raise LibraryError(f"{what} is libresmon {found}, and this package is for {wanted}: install both from the same "
                           "release")
    return found


_library, path, version = _load()
_library.resmon_last_error.restype = c_char_p


def last_error():
    """Returns the text of the last failure in this thread."""
    return _library.resmon_last_error().decode("utf-8", "replace")


def _raise_on_failure(status, _function, _arguments):
    if status != 0:
        raise error_of(status, last_error())
    return status


# Calls that neither block nor call back keep the global interpreter lock: releasing it takes longer than the call.
_quick = ctypes.PyDLL(path, handle=_library._handle)
_QUICK = frozenset("monitor_tag task_begin task_here task_end task_fail watch_begin watch_lap watch_end timed_watch timed_take "
                   "scope_begin scope_begin_under scope_end scope_fail scope_resumed scope_here".split())


def _from_reader(name):
    """Returns a function of libresmon-reader.so, which libresmon loads from its own directory."""
    try:
        if _library.resmon_load_reader() != 0:
            raise LibraryError(f"{name} is not there: {last_error()}")
        return ctypes.CDLL(READER_SONAME, mode=ctypes.DEFAULT_MODE | _RTLD_NOLOAD)[name]
    except (AttributeError, OSError):
        raise LibraryError(f"{path} (libresmon {version}) has no {name}: this package and the library are not from the same "
                           "release") from None


class _Functions:
    """The library's functions, without ``resmon_``; each gets its prototype on first use.

    A status other than 0 becomes an exception.
    """

    def __getattr__(self, name: str) -> Any:
        if name not in _abi.FUNCTIONS:
            raise AttributeError(f"the C interface has no function resmon_{name}")
        try:
            function = (_quick if name in _QUICK else _library)["resmon_" + name]
        except AttributeError:
            function = _from_reader("resmon_" + name)
        result, *arguments = _abi.FUNCTIONS[name].split()
        function.restype, function.argtypes = _abi.type_of(result), [*map(_abi.type_of, arguments)]
        if result == "status":
            function.errcheck = _raise_on_failure
        setattr(self, name, function)
        return function


lib: Any = _Functions()


def take_text(function, *arguments):
    """Returns the text that a function writes to its last argument, as str; frees the library's copy."""
    text = c_void_p()
    function(*arguments, byref(text))
    try:
        return ctypes.string_at(text.value).decode("utf-8", "replace")
    finally:
        lib.text_free(text)


def text(value):
    """Returns a text of the library as str; NULL is ""."""
    return value.decode("utf-8", "replace") if value else ""


def encoded(value, what="text"):
    """Encodes a text for the library: str, bytes or a path."""
    if value is None:
        return None
    try:
        data = os.fsencode(os.fspath(value)) if isinstance(value, os.PathLike) else \
            value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise ArgumentError(f"{what}: {value!r} cannot be encoded in UTF-8") from None
    if not isinstance(data, bytes):
        raise ArgumentTypeError(f"{what}: expected a text, not {type(value).__name__}")
    if b"\0" in data:
        raise ArgumentError(f"{what}: the text has a null character")
    return data


def set_field(struct, name, value, what):
    """Sets a field of options.

    A number for a text field is refused here, because ctypes would use it as an address.
    """
    is_text = dict(struct._fields_)[name] is c_char_p
    if isinstance(value, bool) and not is_text:
        raise ArgumentTypeError(f"{what}: a number is wanted, not bool")
    try:
        setattr(struct, name, encoded(value, what) if is_text else value)
    except TypeError as error:
        raise error if is_text else ArgumentTypeError(f"{what}: a number is wanted, not {type(value).__name__}") from None


def series_of(name):
    """Returns the code of a series of buckets: "mean"."""
    if name not in _abi.SERIES:
        raise ArgumentError(f"series={name!r}: expected one of {', '.join(map(repr, _abi.SERIES))}")
    return _abi.SERIES[name]


def handles_of(runs):
    """Returns an array of the handles of several runs, for the library."""
    return (c_void_p * max(len(runs), 1))(*(run._as_parameter_ for run in runs))
