# SPDX-License-Identifier: MIT
"""Line events of Python: sys.monitoring if available (3.12), otherwise sys.settrace.

Owns the state of each thread under the profiler and passes the events to its tracks (line_track.py). Called by the
wrappers of lines.py: enter() before the function, leave() after it.
"""
import sys
import threading

# The clock of the library, CLOCK_MONOTONIC. The library's own reading of it through ctypes would cost more than
# most lines that it would measure.
from time import perf_counter_ns as clock

TOOL = "resmon lines"  # our name in sys.monitoring


class _Thread:
    """State of one thread under the profiler."""

    __slots__ = ("monitored", "traced", "lost", "told", "is_tracing", "below", "is_broken")

    def __init__(self):
        self.monitored = {}  # id(code) -> its tracks, fed by sys.monitoring
        self.traced = {}  # the same, fed by sys.settrace
        self.lost = 0  # nanoseconds spent in here, which belong to no line
        self.told = 0  # those that events took outside of here, as line_cost.py has them, beside the lines' own
        self.is_tracing = False  # our trace function is set
        self.below = None  # the one that was there before
        self.is_broken = False  # an exception in ours made Python drop it


class _Local(threading.local):
    def __init__(self):
        self.thread = _Thread()


local = _Local()


class _Monitor:
    """The tool of sys.monitoring, held while any call is profiled.

    Only LINE is needed if every call goes through a wrapper. The other events are for a function that calls itself by
    a name that is not the wrapper's. PY_UNWIND and PY_THROW cannot be enabled for one code object, only for the whole
    program, which they would slow down: the wrappers and Track.returned() do without them.
    """

    def __init__(self):
        events = sys.monitoring.events
        self.callbacks = {events.LINE: on_line, events.PY_START: _on_start, events.PY_RESUME: _on_resume,
                          events.PY_RETURN: _on_return, events.PY_YIELD: _on_return}
        self.events = sum(self.callbacks)
        self.tool = None
        self.owners = {}  # id(code) -> ids of those who started it
        self.lock = threading.RLock()  # guards both; reentered by finalizers and signal handlers that are profiled

    def start(self, code, owner):
        """Enables the events of `code`; returns False if no tool is free."""
        with self.lock:
            owners = self.owners.setdefault(id(code), set())
            owners.add(id(owner))
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
        # PROFILER_ID would be ours by right, but cProfile knows no other: a function that uses it would fail.
        for tool in (3, 4, sys.monitoring.PROFILER_ID, 0, 1, 5):
            try:
                if sys.monitoring.get_tool(tool) != TOOL:  # which is there after an interrupt in the middle of this
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
        except (ValueError, TypeError):  # somebody freed our tool: no reason to fail the function that is profiled
            return False
        return True


class _NoMonitor:
    """Replaces _Monitor before Python 3.12."""

    def start(self, code, owner):
        return False

    def stop(self, code, owner):
        pass


def enter(track, depth, line=None, is_throw=False, is_monitored=None):
    """Begins a call of the track's function, or continues one at `line`; `depth` is len(track.paused) before.

    A caller that has started the monitor itself passes `is_monitored`, and also stops the monitor.
    """
    now = clock()
    thread = local.thread
    lost = thread.lost
    if depth == 0:
        track.is_monitored = monitor.start(track.recorder.code, track) if is_monitored is None else is_monitored
    track.enter(now - lost, line, is_throw)
    if depth == 0:
        _run(thread, track)
    thread.lost = lost + clock() - now


def leave(track, depth):
    """Ends what enter() began or was about to begin, and inner calls that an exception left.

    KeyboardInterrupt and RecursionError can come anywhere, also in here: leave() can then be called once more.
    """
    now = clock()
    thread = local.thread
    lost = thread.lost
    if depth == 0:
        _rest(thread, track)
    if depth < len(track.paused):
        track.pop(depth, now - lost)
    if depth == 0:
        monitor.stop(track.recorder.code, track)
    thread.lost = lost + clock() - now


def _run(thread, track):
    running = thread.monitored if track.is_monitored else thread.traced
    key = id(track.recorder.code)
    others = running.get(key)
    # Memory comes first, so that the time of its reading is over when the clock is started again.
    running[key] = (track,) if others is None else tuple(sorted((*others, track), key=lambda each: each.order))
    if not track.is_monitored and not thread.is_tracing:
        thread.is_tracing = True
        if sys.gettrace() is not _on_call:
            thread.below = sys.gettrace()
        sys.settrace(_on_call)


def _rest(thread, track):
    running = thread.monitored if track.is_monitored else thread.traced
    key = id(track.recorder.code)
    tracks = running.get(key, ())
    if len(tracks) > 1:
        running[key] = tuple(each for each in tracks if each is not track)
    else:
        running.pop(key, None)
    if thread.is_tracing and not thread.traced:
        now = sys.gettrace()
        # Where somebody set another one meanwhile (a debugger), that is the one to stay.
        if now is _on_call or now is None and (thread.is_broken or sys.exc_info()[0] is not None):
            sys.settrace(thread.below)
        thread.below = None
        thread.is_tracing = thread.is_broken = False


# sys.monitoring: called with the code object, in the thread that runs it.


def on_line(code, line):
    now = clock()
    thread = local.thread
    tracks = thread.monitored.get(id(code))
    if tracks is not None:
        lost = thread.lost
        time = now - lost
        for track in tracks:
            track.line(line, time)
        thread.told += track.cost
        thread.lost = lost + clock() - now


def _on_start(code, offset):
    _on_called(code, sys._getframe(1), None)


def _on_resume(code, offset):
    frame = sys._getframe(1)
    _on_called(code, frame, frame.f_lineno)


def _on_called(code, frame, line):
    now = clock()
    thread = local.thread
    lost = thread.lost
    cost = 0
    for track in thread.monitored.get(id(code), ()):
        track.called(frame, now - lost, line)
        cost = track.cost
    thread.told += cost
    thread.lost = lost + clock() - now


def _on_return(code, offset, value):
    now = clock()
    thread = local.thread
    lost = thread.lost
    cost = 0
    for track in thread.monitored.get(id(code), ()):
        track.returned(sys._getframe(1), now - lost)
        cost = track.cost
    thread.told += cost
    thread.lost = lost + clock() - now


# sys.settrace: one function for calls, and one for what happens in the frames that are profiled.


def _on_call(frame, event, arg):
    now = clock()
    thread = local.thread
    lost = thread.lost
    try:
        below = None if thread.below is None else _call_below(thread, frame, event, arg)
        tracks = thread.traced.get(id(frame.f_code))
        if tracks is not None:
            # What runs for the first time is still on the line where the function starts.
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
    except Exception:  # a debugger that quits is dropped, as it would be without us
        thread.below = None
        raise
    if sys.gettrace() is not _on_call:
        # It set itself again (coverage does, to be called from C from then on), or another one.
        thread.below = sys.gettrace()
        sys.settrace(_on_call)
    return below


def _trace(frame, event, arg):
    now = clock()
    thread = local.thread
    lost = thread.lost
    try:
        tracks, cost = thread.traced.get(id(frame.f_code), ()), 0
        if event == "line":
            for track in tracks:
                track.line(frame.f_lineno, now - lost)
                cost = track.cost
        elif event == "return":
            for track in tracks:
                track.returned(frame, now - lost)
                cost = track.cost
        thread.told += cost
        thread.lost = lost + clock() - now
        return _trace
    except BaseException:
        thread.is_broken = True
        raise


class _Both:
    """Our local trace function and that of a tracer that was set before."""

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


monitor = _Monitor() if hasattr(sys, "monitoring") else _NoMonitor()


def after_fork():
    """Replaces the lock in the child: the thread that held it does not exist there."""
    if hasattr(monitor, "lock"):
        monitor.lock = threading.RLock()
    thread = local.thread
    for tracks in (*thread.monitored.values(), *thread.traced.values()):
        for track in tracks:
            track.after_fork()
