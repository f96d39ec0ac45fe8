# SPDX-License-Identifier: MIT
"""Exceptions: one class for each status of the library.

All are :class:`Error`. Most are also the corresponding exception of Python, so that ``except FileNotFoundError``
works as for ``open()``.
"""
from __future__ import annotations

from ._generated import STATUSES

_NUMBERS = {name: number for number, (name, _) in STATUSES.items()}
_CLASSES: dict[int, type[Error]] = {}


class Error(Exception):
    """A call of libresmon failed.

    ``status`` is the library's number (-4), ``name`` its name ("RESMON_ENOENT"). ``str()`` is the text: what failed,
    where, and what to do.
    """

    status = 0
    name = "RESMON_UNKNOWN"

    def __init_subclass__(cls, of: str = "", **options: object) -> None:
        super().__init_subclass__(**options)
        if of:
            cls.status, cls.name = _NUMBERS[of], "RESMON_" + of
            _CLASSES[cls.status] = cls

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text, *(() if status is None else (status,)))
        if status is not None:
            self.status = status

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else self.name


class ArgumentError(Error, ValueError, of="EINVAL"):
    """An argument, option or text is not valid."""


class StateError(Error, RuntimeError, of="ESTATE"):
    """The object is in the wrong state: started twice, used after stop, or in the child of a fork."""


class NotFoundError(Error, KeyError, FileNotFoundError, of="ENOENT"):
    """A file, metric or column does not exist."""


class AccessError(Error, PermissionError, of="EACCES"):
    """No permission."""


class FormatError(Error, ValueError, of="EFORMAT"):
    """A text or file is garbled, truncated or hostile."""


class BusyError(Error, RuntimeError, of="EBUSY"):
    """The resource is in use, for example scopes that another monitor has."""


class NotSupportedError(Error, NotImplementedError, of="ENOTSUP"):
    """This kernel, machine or build does not support it."""


class LibraryError(Error, ImportError):  # type: ignore[misc]
    """libresmon.so cannot be loaded, or its version does not fit this package."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a wrong type."""


def _made(name: str, builtin: type[Exception], status: str) -> type[Error]:
    """Makes the class of a status that few programs tell from others: Error with an exception of Python."""
    members = {"__module__": __name__, "__doc__": STATUSES[_NUMBERS[status]][1].capitalize() + "."}
    return type(name, (Error, builtin), members, of=status)  # type: ignore[call-overload, no-any-return]


OutOfMemoryError = _made("OutOfMemoryError", MemoryError, "ENOMEM")
InputOutputError = _made("InputOutputError", OSError, "EIO")
NoSpaceError = _made("NoSpaceError", OSError, "ENOSPC")
RangeError = _made("RangeError", ValueError, "ERANGE")
NoProcessError = _made("NoProcessError", ProcessLookupError, "ESRCH")
VersionError = _made("VersionError", ValueError, "EVERSION")
TimedOutError = _made("TimedOutError", TimeoutError, "ETIMEDOUT")
NetworkError = _made("NetworkError", ConnectionError, "ENET")
RemoteError = _made("RemoteError", RuntimeError, "EREMOTE")
NoDeviceError = _made("NoDeviceError", RuntimeError, "ENODEV")


class ResmonWarning(UserWarning):
    """A part of the result will be missing; the text has the reason."""


def warn(text: str) -> None:
    """Gives a ResmonWarning, at the line of the program that called the package."""
    import sys
    import warnings
    package, level, frame = __package__, 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ResmonWarning, stacklevel=level)


def error_of(status: int, text: str) -> Error:
    """Returns the exception for a status."""
    return _CLASSES[status](text) if status in _CLASSES else Error(text, status)


def name_of(status: int) -> str:
    """Returns the name of a status: "RESMON_ENOENT" for -4."""
    return "RESMON_OK" if status == 0 else _CLASSES.get(status, Error).name
