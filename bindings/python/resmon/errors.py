# SPDX-License-Identifier: MIT
"""What can go wrong, as exceptions: one class for each status of the library.

All are :class:`Error`; most are also the exception of Python that says the same, so that
``except FileNotFoundError`` works as it does for ``open()``.
"""


class Error(Exception):
    """A call of libresmon failed.

    ``status`` is the library's number (-4), ``name`` its name ("RESMON_ENOENT"), and ``str()`` what failed,
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
    """libresmon.so cannot be loaded, or is of a version that this package cannot use."""


class ArgumentError(Error, ValueError):
    """An argument, option or text is not valid."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of a type that is not meant."""


class StateError(Error, RuntimeError):
    """Not in this state: started twice, used after stop, or in the child of a fork."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class NotFoundError(Error, KeyError, FileNotFoundError):
    """A file, metric or column that does not exist."""


class AccessError(Error, PermissionError):
    """No permission."""


class FormatError(Error, ValueError):
    """Text or a file that is garbled, truncated or hostile."""


class InputOutputError(Error, OSError):
    """Reading or writing failed."""


class NoSpaceError(Error, OSError):
    """The disk, or a bounded table of the library, is full."""


class BusyError(Error, RuntimeError):
    """Somebody else has it: scopes that another monitor owns, for one."""


class NotSupportedError(Error, NotImplementedError):
    """This kernel, machine or build cannot do it."""


class RangeError(Error, ValueError):
    """A number outside its bounds."""


class NoProcessError(Error, ProcessLookupError):
    """The process does not exist any more."""


class VersionError(Error, ValueError):
    """Made by a version of libresmon that this one cannot read."""


class TimedOutError(Error, TimeoutError):
    """Not done within its time."""


class NetworkError(Error, ConnectionError):
    """A server cannot be reached, breaks off or cannot be trusted."""


class RemoteError(Error, RuntimeError):
    """A server answered that it will not."""


class NoDeviceError(Error, RuntimeError):
    """This machine has no hardware of the kind."""


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
    """Something will be missing from the result, and why."""


def warn(text):
    """A ResmonWarning, at the line of the program that led here."""
    import sys
    import warnings
    package, level, frame = __package__, 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, ResmonWarning, stacklevel=level)


def error_of(status, text):
    """The exception for a status."""
    known = _CLASSES.get(status)
    return known[0](text) if known else Error(text, status)


def name_of(status):
    """"RESMON_ENOENT" for -4."""
    return "RESMON_OK" if status == 0 else _CLASSES[status][0].name if status in _CLASSES else Error.name
