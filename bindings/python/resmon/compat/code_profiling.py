# SPDX-License-Identifier: MIT
"""code_profiling: timer, ram_usage: decorators that write a line to the root logger, as the originals do.

Differences: ram_usage runs the function exactly once, also with keyword arguments and as a method; the peak is exact,
and its unit is that of the line: 10**9 bytes. Of a class, creating an instance is measured, and the class stays a class.
"""
import functools
import logging

from .. import wrappers

__all__ = ["ram_usage", "timer"]


class _Timed(wrappers._Call):
    def _line(self, finding):
        return f"Finished {finding.name} in {finding.seconds:.4f} seconds."


class _Peak(wrappers._PeakCall):
    def _line(self, finding):
        return f"Finished {finding.name}. Max RAM used {finding.peak_bytes / 1e9:.4f} GB."


class _Timer(wrappers._Wrapper):
    _call = _Timed


class _RamUsage(wrappers._Wrapper):
    _call = _Peak


def _decorated(wrapper, function):
    if not isinstance(function, type):
        return wrapper(function, log=logging.info)
    create = function.__init__
    measured = wrapper(function.__name__, log=logging.info)(create)

    @functools.wraps(create)
    def begin(self, *args, **kwargs):
        return (measured if type(self) is function else create)(self, *args, **kwargs)
    function.__init__ = begin
    return function


def timer(func):
    """Logs "Finished NAME in S seconds." after each call."""
    return _decorated(_Timer, func)


def ram_usage(func):
    """Logs "Finished NAME. Max RAM used G GB." after each call."""
    return _decorated(_RamUsage, func)
