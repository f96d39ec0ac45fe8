# SPDX-License-Identifier: MIT
"""Values for each line: one Recorder for each function, one Track for each thread that runs it.

A track is changed by its own thread only, so events take no lock; the recorder sums the tracks when it is read.
Filled by line_trace.py, read by line_table.py.
"""
import os
import threading
import weakref

from .line_trace import local


class Track:
    """The lines of one function in one thread; `cell` holds the values of the running line.

    A call of the function while it already runs suspends the running line until the call returns, so that no time
    counts twice. `paused` holds these lines, each with the frame that came after it: None for a call through the
    wrapper, which removes the entry itself, or the id of the frame of a call by another name. The first entry is
    always a wrapper's.
    """

    __slots__ = ("recorder", "cells", "cell", "idle", "paused", "is_fresh", "is_monitored", "cost", "__weakref__")
    order = 0

    def __init__(self, recorder, cells):
        self.recorder = recorder
        self.cells = cells  # line -> [hits, figure, ...]
        self.idle = self.cell = self.new_cell()  # where goes what belongs to no line
        self.paused = []
        self.is_fresh = False  # the wrapper has called the function, which has not started yet
        self.is_monitored = False  # its events come from sys.monitoring
        self.cost = recorder.cost  # of an event, outside of it

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

    def enter(self, time, line, is_throw):
        self.push(None, time, line)
        # Python does not say that a generator goes on when an exception is thrown into it.
        self.is_fresh = not is_throw

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
        # Frames that an exception left send no event where sys.monitoring is used. They are above this one.
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
        pass


class TimeTrack(Track):
    """Cells are [hits, nanoseconds, part of them used by events: _Thread.told]."""

    __slots__ = ("since", "thread", "told")
    order = 1

    def __init__(self, recorder, cells):
        super().__init__(recorder, cells)
        self.since = 0
        self.thread = local.thread
        self.told = 0

    @staticmethod
    def new_cell():
        return [0, 0, 0]

    @staticmethod
    def add(total, cell):
        total[0] += cell[0]
        total[1] += cell[1]
        total[2] += cell[2]

    def charge(self, time):
        cell, told = self.cell, self.thread.told
        cell[1] += time - self.since
        cell[2] += told - self.told
        self.since, self.told = time, told

    # What follows is Track's once more without the calls: it runs for every line and every call.

    def enter(self, time, line, is_throw):
        cell, told = self.cell, self.thread.told
        cell[1] += time - self.since
        cell[2] += told - self.told
        self.since, self.told = time, told
        self.paused.append((self.cell, None))
        self.cell = self.idle if line is None else self.at(line)
        self.is_fresh = not is_throw

    def line(self, line, time):
        cell, told = self.cell, self.thread.told
        cell[1] += time - self.since
        cell[2] += told - self.told
        self.since, self.told = time, told
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
        self.high = 0  # since the last line that was put off or taken up again

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
        if rss > cell[1]:
            cell[1] = rss
        cell[2] += rss - self.rss
        if peak > cell[3]:
            cell[3] = peak
        if peak > self.high:
            self.high = peak
        self.rss = rss

    def enter(self, time, line, is_throw):
        if not self.paused:
            self.watch = self.open_watch()
        super().enter(time, line, is_throw)
        if line is None:
            self.recorder.count_call(self)

    def push(self, frame_id, time, line):
        super().push(frame_id, time, line)
        self.paused[-1] += (self.high,)  # for the line that was put off, which goes on from there
        self.high = 0

    def pop(self, depth, time):
        self.charge(time)
        # The line that called ran all the time, so what its calls reached it reached too.
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
            except Exception as error:
                self.recorder.no_peak = str(error) or type(error).__name__
                self.watch = None
        rss = _read_rss()
        return rss, rss

    def open_watch(self):
        try:
            from .watch import Watch
            return Watch("rss")
        except Exception as error:  # the library is not there, or no watch is free
            self.recorder.no_peak = str(error) or type(error).__name__
            return None

    def close_watch(self):
        watch, self.watch = self.watch, None
        if watch is not None:
            try:
                watch.end()
            except Exception as error:
                self.recorder.no_peak = str(error) or type(error).__name__

    def after_fork(self):
        # The watch is on the parent.
        self.watch = self.open_watch()


def _read_rss():
    """Returns the RSS in bytes, if there is no watch; 0: not known."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError):
        return 0


class Recorder:
    """The values of one code object, over all threads."""

    def __init__(self, code, make_track, began, cost_of=None):
        self.code = code
        self.make_track = make_track
        self.cost = 0  # of an event, outside of it, in nanoseconds
        self.cost_of = cost_of  # tells that of a code object; None: it is left at 0
        self.began = began  # called when there is something to show
        self.no_peak = None  # why there are no peaks
        self.has_baseline = False
        self.local = threading.local()
        self.lock = threading.RLock()  # guards parts and ended
        self.parts = []  # (weak track, its cells): one for each thread that runs the function
        self.ended = {}  # cells of threads that are gone

    def track(self):
        """Returns the track of this thread."""
        try:
            return self.local.track
        except AttributeError:
            return self._new_track()

    def _new_track(self):
        with self.lock:
            if self.cost_of is not None:
                self.cost, self.cost_of = self.cost_of(self.code), None
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

    def last_line(self):
        from dis import findlinestarts
        return max([self.code.co_firstlineno, *(line for _, line in findlinestarts(self.code) if line is not None)])

    def clear(self):
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
