# SPDX-License-Identifier: MIT
"""Measures the overhead of a line event that falls into the line's own time, before and after our clock is read.

The events of line_trace.py subtract their own time. This module measures the time of Python outside of them: about
0.2 us with sys.monitoring and up to 1 us with sys.settrace. It is more for functions with more variables: before
Python 3.13 the variables are copied for each event. The module runs cheap lines with and without events, for the same
number of variables: when a function is first called, and again when its table is shown, at most once a second.
"""
from functools import lru_cache
from time import monotonic

from .line_trace import clock, enter, leave
from .line_track import Recorder, TimeTrack

_LINES, _ROUNDS, _TRIES = 12, 40, 9
_SURE = 0.9  # machines change their pace: what is taken off is to be there


def cost_of(code):
    """Returns the overhead of each event of `code` in nanoseconds, at the time when profiling begins."""
    return _cost(_variables_of(code), 0)


def pace_of(code, cost):
    """Returns the part of this overhead that applies now, 0 to 1.

    Processors become faster some time after a program has begun, and so do all events.
    """
    return min(_cost(_variables_of(code), 1 + int(monotonic())) / cost, 1) if cost else 1


def _variables_of(code):
    return min(code.co_nlocals + len(code.co_cellvars) + len(code.co_freevars), 64)


@lru_cache(maxsize=256)
def _cost(variables, _second):
    function = _cheap_lines(variables)
    differences = sorted(_told(function) - _plain(function) for _ in range(_TRIES))
    return max(int(_SURE * differences[1]), 0)


def _cheap_lines(variables):
    """Returns a function with this number of variables, and lines that use none of them."""
    first = " = ".join(f"v{number}" for number in range(variables)) + " = 1" if variables else "pass"
    text = f"def cheap():\n global x, y\n {first}\n for x in range({_ROUNDS}):\n" + "  y = x\n" * _LINES
    found = {}
    exec(compile(text, "<resmon>", "exec"), found)  # pylint: disable=exec-used
    return found["cheap"]


def _plain(function):
    """Returns the nanoseconds of a line, without events."""
    began = clock()
    function()
    return (clock() - began) / (_ROUNDS * _LINES)


def _told(function):
    """Returns the nanoseconds that a line is charged with, with events."""
    track = Recorder(function.__code__, TimeTrack, lambda: None).track()
    try:
        enter(track, 0)
        function()
    finally:
        leave(track, 0)
    cheap = [figures for line, figures in track.cells.items() if line > 4]
    return sum(figures[1] for figures in cheap) / max(sum(figures[0] for figures in cheap), 1)
