# SPDX-License-Identifier: MIT
"""Stacks of a run: functions and lines that use CPU time, or that make memory grow."""
from __future__ import annotations

import math
import os
from ctypes import byref, c_double, c_uint64

from . import _abi, human, records
from ._library import lib
from .errors import ArgumentError
from .results import _Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def kind_of(name):
    """Returns the number of a kind of stacks."""
    if name not in _abi.STACK_KINDS:
        raise ArgumentError(f"kind={name!r}: expected one of {', '.join(map(repr, _abi.STACK_KINDS))}")
    return _abi.STACK_KINDS[name]


def _name(frame):
    return frame.function or os.path.basename(frame.module) or hex(frame.address)


def _weight_text(kind, value):
    return human.seconds_text(value) if kind == "cpu" else human.bytes_text(value)


def _estimate_text(kind, value, low, high):
    """Returns a value as in the library's report: "~" if it may be off by more than a tenth, "<" for an upper bound.

    CPU time is sampled often and has no mark.
    """
    half = (high - low) / 2 / value if value > 0 and kind != "cpu" else 0.0
    return "<" + _weight_text(kind, high) if half > 1.0 else "~" * (half > 0.1) + _weight_text(kind, value)


def self_text(function, kind):
    """Returns the self weight of a function as text, marked if it is an estimate."""
    return _estimate_text(kind, function.self_weight, function.self_low, function.self_high)


def total_text(function, kind):
    """Returns the total (inclusive) weight of a function as text, marked if it is an estimate."""
    return _estimate_text(kind, function.total_weight, function.total_low, function.total_high)


class Stacks(_Table["records.Stack"]):
    """The sampled stacks, each with all of its samples."""

    def table(self):
        rows = [[" < ".join(_name(frame) for frame in stack.frames[:3]), stack.scope,
                 *(_weight_text(kind, stack.weights[kind]) for kind in _abi.STACK_KINDS)] for stack in self._items]
        return ["innermost", "scope", "CPU time", "memory", "files"], rows, 2

    def __repr__(self):
        return super().__repr__() if self._items else "no stacks were taken (stacks=\"cpu+memory\")"


class Functions(_Table["records.Function"]):
    """Functions with their weight of the kind ``kind``, most self weight first."""

    kind: str = "cpu"

    def __init__(self, items: Iterable[records.Function], kind: str) -> None:
        super().__init__(items)
        self.kind = kind

    def table(self):
        rows = [[one.name, os.path.basename(one.file), self_text(one, self.kind), f"{one.self_share:.1%}",
                 total_text(one, self.kind), f"{one.total_share:.1%}"] for one in self._items]
        return ["function", "file", "self", "", "total", ""], rows, 2


def _frames(run, get, index, count, known):
    struct, frames = _abi.RunFrame(), []
    for i in range(count):
        get(run, index, i, byref(struct))
        key = bytes(struct)  # its texts are the run's, at the same addresses each time
        frame = known.get(key)
        if frame is None:
            frame = records.Frame.of(struct)
            frame = known[key] = known.setdefault(frame, frame)  # most frames are in many stacks
        frames.append(frame)
    return tuple(frames)


def _path(scopes, index):
    return scopes[index].path if index >= 0 else ""


def stacks_of(run):
    """Returns all stacks of a Run."""
    struct, known, found, scopes = _abi.RunStack(), {}, [], run.scopes
    for index in range(lib.run_stack_count(run)):
        lib.run_get_stack(run, index, byref(struct))
        stack = records.Stack()
        stack.scope, stack.is_cut = _path(scopes, struct.scope), bool(struct.is_cut)
        stack.samples = {kind: struct.samples[i] for kind, i in _abi.STACK_KINDS.items()}
        stack.weights = {kind: struct.weight[i] / (1e9 if kind == "cpu" else 1) for kind, i in _abi.STACK_KINDS.items()}
        stack.errors = {kind: struct.error[i] / (1e9 if kind == "cpu" else 1) for kind, i in _abi.STACK_KINDS.items()}
        stack.frames = _frames(run, lib.run_get_frame, index, struct.frames, known)
        found.append(stack)
    return Stacks(found)


def peak_of(run):
    """Returns the stacks of the threads at the peak."""
    struct, found, scopes = _abi.RunPeakStack(), [], run.scopes
    for index in range(lib.run_peak_stack_count(run)):
        lib.run_get_peak_stack(run, index, byref(struct))
        one = records.PeakStack.of(struct)
        one.scope = _path(scopes, struct.scope)
        if struct.highest_t_ns < 0:
            one.highest_t_s = math.nan
        one.frames = _frames(run, lib.run_get_peak_frame, index, struct.frames, {})
        found.append(one)
    return found


def info_of(run):
    """Returns the summary of each kind of stacks."""
    struct, found = _abi.RunStackInfo(), {}
    for kind, number in _abi.STACK_KINDS.items():
        lib.run_get_stack_info(run, number, byref(struct))
        info = records.StackInfo.of(struct)
        if kind == "cpu":
            for name in ("weight", "total", "error", "low_weight", "high_weight"):
                setattr(info, name, getattr(info, name) / 1e9)
        found[kind] = info
    return found


def losses_of(run):
    """Returns the number of samples, threads or libraries for each kind of loss."""
    count, found = c_uint64(), {}
    for loss, number in _abi.STACK_LOSSES.items():
        lib.run_stack_loss(run, number, byref(count))
        found[loss] = count.value
    return found


def interval_of(weight, error, most):
    """Returns the 95 % interval of a weight."""
    low, high = c_double(), c_double()
    lib.stack_interval(weight, error, most, byref(low), byref(high))
    return low.value, high.value


def functions_of(stacks, kind, most=math.nan):
    """Sums the weights by function; recursion counts once in a total."""
    kind_of(kind)
    sums, whole = {}, sum(stack.weights[kind] for stack in stacks)
    for stack in stacks:
        weight, samples, square = stack.weights[kind], stack.samples[kind], stack.errors[kind] ** 2
        if not samples:
            continue
        names = [(_name(frame), frame.file or frame.module) for frame in stack.frames]
        for name in set(names):
            one = sums.setdefault(name, [0.0, 0.0, 0, 0.0, 0.0])
            one[1] += weight
            one[2] += samples
            one[4] += square
        if names:
            sums[names[0]][0] += weight
            sums[names[0]][3] += square
    found = []
    for (name, file), (own, total, samples, own_square, total_square) in sums.items():
        one = records.Function()
        one.name, one.file, one.self_weight, one.total_weight, one.samples = name, file, own, total, samples
        one.self_low, one.self_high = interval_of(own, math.sqrt(own_square), most)
        one.total_low, one.total_high = interval_of(total, math.sqrt(total_square), most)
        one.self_share, one.total_share = (own / whole, total / whole) if whole else (0.0, 0.0)
        found.append(one)
    found.sort(key=lambda one: (-one.self_weight, -one.total_weight, one.name))
    return Functions(found, kind)
