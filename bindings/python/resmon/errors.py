# SPDX-License-Identifier: MIT
"""Exceptions: one class for each status of the library.

All are :class:`Error`. Most are also the corresponding exception of Python, so that ``except FileNotFoundError``
works as for ``open()``.
"""


class Error(Exception):
    """A call of libresmon failed.

    ``status`` is the library's number (-4), ``name`` its name ("RESMON_ENOENT"). ``str()`` is the text: what failed,
    where, and what to do.
    """

    status = 0
    name = "RESMON_UNKNOWN"

    def __init__(self, text, status=None):
        super().__init__(text, *(() if status is None else (status,)))
        if status is not None:
            self.status = status

    def __str__(self):
        return str(self.args[0]) if self.args else self.name


class LibraryError(Error, ImportError):
    """libresmon.so cannot be loaded, or its version does not fit this package."""


class ArgumentError(Error, ValueError):
    """An argument, option or text is not valid."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument has a wrong type."""


class StateError(Error, RuntimeError):
    """The object is in the wrong state: started twice, used after stop, or in the child of a fork."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class NotFoundError(Error, KeyError, FileNotFoundError):
    """A file, metric or column does not exist."""


class AccessError(Error, PermissionError):
    """No permission."""


class FormatError(Error, ValueError):
    """A text or file is garbled, truncated or hostile."""


class InputOutputError(Error, OSError):
    """Reading or writing failed."""


class NoSpaceError(Error, OSError):
    """The disk, or a bounded table of the library, is full."""


class BusyError(Error, RuntimeError):
    """The resource is in use, for example scopes that another monitor has."""


class NotSupportedError(Error, NotImplementedError):
    """This kernel, machine or build does not support it."""


class RangeError(Error, ValueError):
    """A number is out of its bounds."""


class NoProcessError(Error, ProcessLookupError):
    """The process does not exist any more."""


class VersionError(Error, ValueError):
    """The data were made by a version of libresmon that this version cannot read."""


class TimedOutError(Error, TimeoutError):
    """The operation did not finish in time."""


class NetworkError(Error, ConnectionError):
    """A server cannot be reached, closes the connection, or cannot be trusted."""


class RemoteError(Error, RuntimeError):
    """A server refused the request."""


class NoDeviceError(Error, RuntimeError):
    """This machine does not have this kind of hardware."""


_CLASSES = {
    -1: (ArgumentError, "EINVAL"), -2: (StateError, "ESTATE"), -3: (OutOfMemoryError, "ENOMEM"),
    -4: (NotFoundError, "ENOENT"), -5: (AccessError, "EACCES"), -6: (FormatError, "EFORMAT"),
    -7: (InputOutputError, "EIO"), -8: (NoSpaceError, "ENOSPC"), -9: (BusyError, "EBUSY"),
    -10: (NotSupportedError, "ENOTSUP"), -11: (RangeError, "ERANGE"), -12: (NoProcessError, "ESRCH"),
    -13: (VersionError, "EVERSION"), -14: (TimedOutError, "ETIMEDOUT"), -15: (NetworkError, "ENET"),
    -16: (RemoteError, "EREMOTE"), -17: (NoDeviceError, "ENODEV"),
}

for _status, (_class, _name) in _CLASSES.items():
    _class.status = _status
    _class.name = "RESMON_" + _name


class ResmonWarning(UserWarning):
    """A part of the result will be missing; the text has the reason."""


def warn(text):
    """Gives a ResmonWarning, at the line of the program that called the package."""
    import sys
    import warnings
    package, level, frame = __package__, 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ResmonWarning, stacklevel=level)


def error_of(status, text):
    """Returns the exception for a status."""
    known = _CLASSES.get(status)
    return known[0](text) if known else Error(text, status)


def name_of(status):
    """Returns the name of a status: "RESMON_ENOENT" for -4."""
    return "RESMON_OK" if status == 0 else _CLASSES[status][0].name if status in _CLASSES else Error.name
