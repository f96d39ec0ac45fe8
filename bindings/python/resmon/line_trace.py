# SPDX-License-Identifier: MIT
"""Measures the lines of a function: from Python's line events to the time and memory of each line.

A tracer receives the events: sys.monitoring if available (3.12), otherwise sys.settrace. Both pass them to the tracks
of the thread. There is one track for each function and thread, so tracks need no lock. A Recorder sums the tracks of a
function when it is read. The stretches of lines.py call enter() before the function runs, and leave() after it.
"""
import os
import sys
import threading
import weakref

# CLOCK_MONOTONIC, the clock of the library. Reading it through ctypes would take longer than most lines.
from time import perf_counter_ns as clock

TOOL = "resmon lines"  # our name in sys.monitoring

# Overhead of an event outside of our clock readings, in ns, which is subtracted from the line. Measured as the time of a
# line "y = x" with events less that without, medians of 101 on a 2-vCPU KVM guest (Intel Xeon, 2026-11-28): 138 in
# Python 3.11, 144 in 3.12, 152 in 3.13; sys.settrace beside sys.monitoring 200 in 3.12; in 3.9 and 3.10, 175 to 195 and 19
# more for each variable of the function. Less is subtracted, so that no line is shown as faster than it is: 8 to 25 ns per
# event remain in 3.11 to 3.13. On faster or slower machines the error differs accordingly.
EVENT_NS = 130


class _Thread:
    """State of one thread under the profiler."""

    __slots__ = ("monitored", "traced", "lost", "is_tracing", "below", "is_broken")

    def __init__(self):
        self.monitored = {}  # id(code) -> its tracks, fed by sys.monitoring
        self.traced = {}  # id(code) -> its tracks, fed by sys.settrace
        self.lost = 0  # nanoseconds of overhead, which are no time of a line
        self.is_tracing = False  # our trace function is set
        self.below = None  # the previous trace function
        self.is_broken = False  # Python removed our trace function after an exception in it


class _Local(threading.local):
    def __init__(self):
        self.thread = _Thread()


local = _Local()


# ---- calls -----------------------------------------------------------------------------------


def enter(track, depth, line):
    """Begins a call of the track's function, or continues one at `line`; `depth` is len(track.paused) before."""
    now = clock()
    thread = local.thread
    lost = thread.lost
    track.enter(now - lost, line)
    if depth == 0:
        running, key = track.tracer.running(thread), id(track.recorder.code)
        # Tracks of memory come first, so that reading it ends before the clock starts again.
        running[key] = tuple(sorted((*running.get(key, ()), track), key=lambda each: each.order))
        track.tracer.resume(thread)
    thread.lost = lost + clock() - now


def leave(track, depth):
    """Ends what enter() began or was about to begin, and inner calls that ended with an exception.

    KeyboardInterrupt and RecursionError can occur anywhere, also in here: leave() is then called again.
    """
    now = clock()
    thread = local.thread
    lost = thread.lost
    if depth == 0:
        running, key = track.tracer.running(thread), id(track.recorder.code)
        others = tuple(each for each in running.get(key, ()) if each is not track)
        if others:
            running[key] = others
        else:
            running.pop(key, None)
        track.tracer.suspend(thread)
    if depth < len(track.paused):
        track.pop(depth, now - lost)
    thread.lost = lost + clock() - now


# ---- sys.monitoring: called with the code object, in the thread that runs it -------------------


def _on_line(code, line):
    now = clock()
    thread = local.thread
    tracks = thread.monitored.get(id(code))
    if tracks is not None:
        lost = thread.lost
        time = now - lost
        for track in tracks:
            track.line(line, time)
        thread.lost = lost + EVENT_NS + clock() - now


def _on_start(code, _offset):
    _on_called(code, sys._getframe(1), None)


def _on_resume(code, _offset):
    frame = sys._getframe(1)
    _on_called(code, frame, frame.f_lineno)


def _on_called(code, frame, line):
    now = clock()
    thread = local.thread
    lost = thread.lost
    for track in thread.monitored.get(id(code), ()):
        track.called(frame, now - lost, line)
    thread.lost = lost + EVENT_NS + clock() - now


def _on_return(code, _offset, _value):
    now = clock()
    thread = local.thread
    lost = thread.lost
    for track in thread.monitored.get(id(code), ()):
        track.returned(sys._getframe(1), now - lost)
    thread.lost = lost + EVENT_NS + clock() - now


class Monitoring:
    """The tool of sys.monitoring, held while any call is profiled.

    Only LINE is needed if every call goes through a wrapper. The other events are for a function that calls itself by
    a name that is not the wrapper's. PY_UNWIND and PY_THROW cannot be enabled for one code object, only for the whole
    program, which they would slow down: the wrappers and Track.returned() do without them. Events stay enabled while
    a generator is suspended: switching them costs more for longer functions.
    """

    def __init__(self):
        events = sys.monitoring.events
        self.callbacks = {events.LINE: _on_line, events.PY_START: _on_start, events.PY_RESUME: _on_resume,
                          events.PY_RETURN: _on_return, events.PY_YIELD: _on_return}
        self.events = sum(self.callbacks)
        self.tool = None
        self.owners = {}  # id(code) -> ids of the calls that started it
        self.lock = threading.RLock()  # guards both; reentered by finalizers and signal handlers that are profiled

    def start(self, code, owner):
        """Enables the events of `code`; returns False if no tool is free."""
        with self.lock:
            self.owners.setdefault(id(code), set()).add(id(owner))
            if self._take() and self._set(code, self.events):
                return True
            self.stop(code, owner)
            return False

    def stop(self, code, owner):
        """Ends what start() began, wholly or in part: an interrupt may come in both."""
        with self.lock:
            owners = self.owners.get(id(code), set())
            owners.discard(id(owner))
            if not owners:
                self._set(code, 0)
                self.owners.pop(id(code), None)
            if not self.owners and self.tool is not None:
                tool, self.tool = self.tool, None
                sys.monitoring.free_tool_id(tool)

    def _take(self):
        if self.tool is not None:
            return True
        # PROFILER_ID comes last, as cProfile uses no other: a profiled function that uses cProfile would fail.
        for tool in (3, 4, sys.monitoring.PROFILER_ID, 0, 1, 5):
            try:
                if sys.monitoring.get_tool(tool) != TOOL:  # it is ours after an interrupt within this function
                    sys.monitoring.use_tool_id(tool, TOOL)
            except ValueError:  # taken
                continue
            for event, callback in self.callbacks.items():
                sys.monitoring.register_callback(tool, event, callback)
            self.tool = tool
            return True
        return False

    def _set(self, code, events):
        try:
            sys.monitoring.set_local_events(self.tool, code, events)
        except (ValueError, TypeError):  # another module freed our tool: the profiled function must not fail
            return False
        return True

    @staticmethod
    def running(thread):
        return thread.monitored

    def resume(self, thread):
        """Does nothing: events are enabled for the whole process."""

    suspend = resume


# ---- sys.settrace: one function for calls, and one for what happens in the frames that are profiled


def _on_call(frame, event, arg):
    now = clock()
    thread = local.thread
    lost = thread.lost
    try:
        below = None if thread.below is None else _call_below(thread, frame, event, arg)
        tracks = thread.traced.get(id(frame.f_code))
        if tracks is not None:
            # At the begin of a call, the frame is on the first line of the function.
            line = None if frame.f_lineno == frame.f_code.co_firstlineno else frame.f_lineno
            for track in tracks:
                track.called(frame, now - lost, line)
            below = _trace if below is None else _Both(below).trace
        thread.lost = lost + clock() - now
        return below
    except BaseException:  # KeyboardInterrupt: Python drops a trace function that raises
        thread.is_broken = True
        raise


def _call_below(thread, frame, event, arg):
    try:
        below = thread.below(frame, event, arg)
    except Exception:  # a debugger that quits is removed, as it would be without this profiler
        thread.below = None
        raise
    if sys.gettrace() is not _on_call:
        # It installed itself again (as coverage does, to be called from C), or another trace function.
        thread.below = sys.gettrace()
        sys.settrace(_on_call)
    return below


def _trace(frame, event, _arg):
    now = clock()
    thread = local.thread
    lost = thread.lost
    try:
        tracks = thread.traced.get(id(frame.f_code), ())
        if event == "line":
            for track in tracks:
                track.line(frame.f_lineno, now - lost)
        elif event == "return":
            for track in tracks:
                track.returned(frame, now - lost)
        thread.lost = lost + EVENT_NS + clock() - now
        return _trace
    except BaseException:
        thread.is_broken = True
        raise


class _Both:
    """Our local trace function, and the one of a tracer that was installed before."""

    __slots__ = ("below",)

    def __init__(self, below):
        self.below = below

    def trace(self, frame, event, arg):
        now = clock()
        thread = local.thread
        lost = thread.lost
        _trace(frame, event, arg)
        try:
            below = self.below(frame, event, arg)
        except Exception:
            thread.below = None
            raise
        if below is not None:
            self.below = below
        thread.lost = lost + clock() - now
        return self.trace


class Settrace:
    """The trace function of a thread, set while the thread runs a function that is profiled."""

    def start(self, _code, _owner):
        return True

    def stop(self, code, owner):
        """Does nothing: suspend() was called before."""

    @staticmethod
    def running(thread):
        return thread.traced

    @staticmethod
    def resume(thread):
        if not thread.is_tracing:
            thread.is_tracing = True
            if sys.gettrace() is not _on_call:
                thread.below = sys.gettrace()
            sys.settrace(_on_call)

    @staticmethod
    def suspend(thread):
        if thread.is_tracing and not thread.traced:
            now = sys.gettrace()
            # A trace function that was installed meanwhile, as by a debugger, stays.
            if now is _on_call or now is None and (thread.is_broken or sys.exc_info()[0] is not None):
                sys.settrace(thread.below)
            thread.below = None
            thread.is_tracing = thread.is_broken = False


tracers = (Monitoring(), Settrace()) if hasattr(sys, "monitoring") else (Settrace(),)


def after_fork():
    """Replaces the lock in the child: the thread that held it does not exist there."""
    tracers[0].lock = threading.RLock()
    thread = local.thread
    for tracks in (*thread.monitored.values(), *thread.traced.values()):
        for track in tracks:
            track.after_fork()


# ---- the lines of one function in one thread -----------------------------------------------------


class Track:
    """The lines of one function in one thread; `cell` holds the values of the running line.

    A call of the function while it already runs suspends the running line until the call returns, so that no time
    counts twice. `paused` holds these lines, each with the frame that came after it: None for a call through the
    wrapper, which removes the entry itself, or the id of the frame of a call by another name. The first entry is
    always a wrapper's.
    """

    __slots__ = ("recorder", "cells", "cell", "idle", "paused", "is_fresh", "tracer", "__weakref__")
    order = 0

    def __init__(self, recorder, cells):
        self.recorder = recorder
        self.cells = cells  # line -> [hits, value, ...]
        self.idle = self.cell = self.new_cell()  # for time that belongs to no line
        self.paused = []
        self.is_fresh = False  # the wrapper has called the function, which has not started or continued yet
        self.tracer = tracers[-1]  # of the outermost call

    def line(self, line, time):
        self.charge(time)
        cell = self.cell = self.at(line)
        cell[0] += 1

    def at(self, line):
        cell = self.cells.get(line)
        if cell is None:
            if line is None:  # an instruction that is on no line
                return self.idle
            cell = self.cells[line] = self.new_cell()
        return cell

    def enter(self, time, line):
        self.push(None, time, line)
        self.is_fresh = True

    def push(self, frame_id, time, line):
        self.charge(time)
        self.paused.append((self.cell, frame_id))
        self.cell = self.idle if line is None else self.at(line)

    def pop(self, depth, time):
        self.charge(time)
        self.cell = self.paused[depth][0]
        self.is_fresh = False
        del self.paused[depth:]

    def called(self, frame, time, line=None):
        if self.is_fresh:
            self.is_fresh = False
        else:
            self.push(id(frame), time, line)

    def returned(self, frame, time):
        paused = self.paused
        top = len(paused) - 1
        # With sys.monitoring, frames that end with an exception send no event. They are above this frame.
        while top > 0 and paused[top][1] is not None and paused[top][1] != id(frame):
            top -= 1
        if top > 0 and paused[top][1] is not None:
            self.pop(top, time)
            return
        self.charge(time)
        self.cell = self.idle
        del paused[top + 1:]
        self.is_fresh = True  # a decorator in between may call it once more

    def after_fork(self):
        """Does nothing: time goes on."""


class TimeTrack(Track):
    """Cells are [hits, nanoseconds]."""

    __slots__ = ("since",)
    order = 1

    def __init__(self, recorder, cells):
        super().__init__(recorder, cells)
        self.since = 0

    @staticmethod
    def new_cell():
        return [0, 0]

    @staticmethod
    def add(total, cell):
        total[0] += cell[0]
        total[1] += cell[1]

    def charge(self, time):
        self.cell[1] += time - self.since
        self.since = time

    def line(self, line, time):
        # As Track.line(), without calls, because it runs for every line.
        self.cell[1] += time - self.since
        self.since = time
        try:
            cell = self.cells[line]
        except KeyError:
            cell = self.at(line)
        cell[0] += 1
        self.cell = cell


class MemoryTrack(Track):
    """Cells are [hits, highest RSS after the line, sum of the changes of RSS, highest RSS while it ran], in bytes."""

    __slots__ = ("watch", "rss", "high")

    def __init__(self, recorder, cells):
        super().__init__(recorder, cells)
        self.watch = None
        self.rss = 0
        self.high = 0  # since the last line that was suspended or continued

    @staticmethod
    def new_cell():
        return [0, 0, 0, 0]

    @staticmethod
    def add(total, cell):
        total[0] += cell[0]
        total[1] = max(total[1], cell[1])
        total[2] += cell[2]
        total[3] = max(total[3], cell[3])

    def charge(self, time):
        rss, peak = self.lap()
        cell = self.cell
        cell[1] = max(cell[1], rss)
        cell[2] += rss - self.rss
        cell[3] = max(cell[3], peak)
        self.high = max(self.high, peak)
        self.rss = rss

    def enter(self, time, line):
        if not self.paused:
            self.watch = self.open_watch()
        super().enter(time, line)
        if line is None:
            self.recorder.count_call(self)

    def push(self, frame_id, time, line):
        super().push(frame_id, time, line)
        self.paused[-1] += (self.high,)  # for the line that was suspended, which continues from there
        self.high = 0

    def pop(self, depth, time):
        self.charge(time)
        # The peak of a call is also a peak of the calling line.
        for cell, _, high in reversed(self.paused[depth:]):
            cell[3] = max(cell[3], self.high)
            self.high = max(self.high, high)
        self.cell = self.paused[depth][0]
        self.is_fresh = False
        del self.paused[depth:]
        if not self.paused:
            self.close_watch()

    def lap(self):
        """Returns the RSS now and the highest RSS since the previous lap.

        It never fails, because it runs between the lines of the user.
        """
        if self.watch is not None:
            try:
                rss, peak = self.watch.lap_rss()
                return rss, max(rss, peak)
            except Exception as error:  # pylint: disable=broad-except
                self.lose_peak(error)
                self.watch = None
        rss = _read_rss()
        return rss, rss

    def open_watch(self):
        try:
            from .watch import Watch
            return Watch("rss")
        except Exception as error:  # pylint: disable=broad-except  # the library is not there, or no watch is free
            self.lose_peak(error)
            return None

    def close_watch(self):
        watch, self.watch = self.watch, None
        if watch is not None:
            try:
                watch.end()
            except Exception as error:  # pylint: disable=broad-except
                self.lose_peak(error)

    def lose_peak(self, error):
        self.recorder.no_peak = str(error) or type(error).__name__

    def after_fork(self):
        self.watch = self.open_watch()  # the open watch belongs to the parent process


def _read_rss():
    """Returns the RSS in bytes, if there is no watch; 0: not known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


# ---- the lines of one function in all threads ----------------------------------------------------


class Recorder:
    """The values of one code object, over all threads."""

    def __init__(self, code, make_track, began):
        self.code = code
        self.make_track = make_track
        self.began = began  # called when there is something to show
        self.no_peak = None  # why there are no peaks
        self.has_baseline = False
        self.local = threading.local()
        self.lock = threading.RLock()  # guards parts and ended
        self.parts = []  # (weak track, its cells): one for each thread that runs the function
        self.ended = {}  # sums of threads that have ended

    def track(self):
        """Returns the track of this thread."""
        try:
            return self.local.track
        except AttributeError:
            return self._new_track()

    def _new_track(self):
        cells = {}
        track = self.make_track(self, cells)
        with self.lock:
            for reference, gone in self.parts:
                if reference() is None:
                    self._merge(self.ended, gone)
            self.parts = [part for part in self.parts if part[0]() is not None]
            self.parts.append((weakref.ref(track), cells))
        self.local.track = track
        self.began()
        return track

    def totals(self):
        """Returns {line: values} of completed lines; the line that a thread is in counts when it is over."""
        total = {}
        with self.lock:
            for cells in (self.ended, *(cells for _, cells in self.parts)):
                self._merge(total, cells)
        return {line: total[line] for line in sorted(total)}

    def _merge(self, total, cells):
        for line, cell in cells.copy().items():
            self.make_track.add(total.setdefault(line, self.make_track.new_cell()), cell)

    def clear(self):
        """Deletes the values."""
        with self.lock:
            for cells in (self.ended, *(cells for _, cells in self.parts)):
                cells.clear()
            self.no_peak = None
            self.has_baseline = False

    def count_call(self, track):
        """Counts the row of the function itself: the memory at its first call, as in memory_profiler."""
        cell = track.at(self.code.co_firstlineno)
        cell[0] += 1
        cell[1] = max(cell[1], track.rss)
        cell[3] = max(cell[3], track.rss)
        if not self.has_baseline:
            self.has_baseline = True
            cell[2] += track.rss

    def after_fork(self):
        """Starts from zero in the child; returns True if the fork was inside the function."""
        self.lock = threading.RLock()
        track = getattr(self.local, "track", None)
        is_running = track is not None and bool(track.paused)
        if not is_running:
            self.local = threading.local()
        self.parts = [part for part in self.parts if is_running and part[0]() is track]
        self.clear()
        return is_running
