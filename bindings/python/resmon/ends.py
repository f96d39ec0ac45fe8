# SPDX-License-Identifier: MIT
"""Reports how a Python program ends, to the run of the variable RESMON and to monitors that still run.

The library knows the exit status, and handles the signals that end a program. This module reports what it cannot
know: the uncaught exception, an interrupt (after which Python ends itself by SIGINT, without C exit handlers), and
``os._exit()``. Without a run nothing is changed.
"""
from __future__ import annotations

import atexit
import functools
import os
import sys
from _signal import SIGINT  # type: ignore[import-not-found]
from ctypes import byref

from . import _abi
from ._library import lib
from .errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Modules of the outermost frame if an exception was not caught. Shells and test runners, which continue after an
# exception, are not among them.
_OUTERMOST = ("__main__", "runpy")


def text_of(error):
    """Returns "ValueError: no such column", in one line."""
    try:
        text = " ".join(str(error).replace("\0", " ").split())
    except Exception:  # pylint: disable=broad-except
        text = ""  # str() of the exception failed
    return f"{type(error).__name__}: {text}".rstrip(": ")


def end_of(error):
    """Returns the end of a program by this exception, for the library; None: it is not a failure."""
    if isinstance(error, SystemExit):
        code = 0 if error.code is None else error.code if isinstance(error.code, int) else 1
        return _abi.RunEnd(reason=_abi.END_FAILED, exit_status=code & 0xff) if code & 0xff else None
    if error is None or isinstance(error, GeneratorExit):
        return None
    text = text_of(error).encode("utf-8", "replace")
    if isinstance(error, KeyboardInterrupt):
        return _abi.RunEnd(reason=_abi.END_INTERRUPTED, signal_number=int(SIGINT), text=text)
    return _abi.RunEnd(reason=_abi.END_FAILED, text=text)


def uncaught():
    """Returns the exception that ends the program: in the main thread, printed by the interpreter.

    In an interactive session it returns None.
    """
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    trace = getattr(sys, "last_traceback", None)
    if not isinstance(error, BaseException) or trace is None or hasattr(sys, "ps1"):
        return None
    return error if trace.tb_frame.f_globals.get("__name__") in _OUTERMOST else None


def _at_exit():
    error = uncaught()
    end = end_of(error)
    try:
        if end is not None:
            lib.program_set_end(byref(end))
        if isinstance(error, KeyboardInterrupt):
            lib.program_finish(0)
    except Error:
        pass  # it is over, or another process's


# Functions that os._exit() calls, once it is watched, with an equivalent SystemExit; and their process.
_leaving: dict[Callable[[SystemExit], object], int] = {}


def watch_exit(leave_with):
    """From now on ``os._exit()`` calls this function before it exits, in this process."""
    if not _leaving:
        _wrap_exit()
    _leaving[leave_with] = os.getpid()


def _wrap_exit():
    leave = os._exit

    @functools.wraps(leave)
    def _exit(status):
        own = [leave_with for leave_with, pid in _leaving.items() if pid == os.getpid()]  # not of a fork's parent
        if isinstance(status, int):
            for leave_with in own:
                try:
                    leave_with(SystemExit(status & 0xff))
                except BaseException:  # pylint: disable=broad-except
                    pass  # nothing may keep the program from leaving
        leave(status)

    os._exit = _exit


def watch():
    """Begins to report the end; called when the package is imported under RESMON."""
    try:
        lib.program_end_on_signals()
    except Error:
        return  # no run is under way, or there is no thread to finish it
    atexit.register(_at_exit)
    watch_exit(lambda error: lib.program_finish(error.code))
