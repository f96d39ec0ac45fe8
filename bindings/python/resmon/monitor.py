# SPDX-License-Identifier: MIT
"""The object that observes: ``with resmon.Monitor() as m: ...``."""
import atexit
import ctypes
import os
import sys
import warnings
import weakref
from _thread import RLock
from ctypes import byref, c_void_p

from . import _abi, records, sinks
from ._library import encoded, lib
from .errors import BusyError, Error, ResmonWarning, StateError
from .options import carbon_options, combined, milliseconds
from .run import Recorded, Run

_IDLE = {"active": 0, "none": _abi.FLAG_IDLE_NONE, "allocated": _abi.FLAG_IDLE_ALLOCATED}


def _warn_of_unknown_place(options):
    """A place that is in no table would pass for the world's average."""
    found = _abi.CarbonIntensity()
    lib.carbon_find(byref(options), byref(found))
    named = options.country or options.cloud_region
    if named and _abi.BASES.get(found.basis) == "world":
        warnings.warn(f"carbon: {named.decode('utf-8', 'replace')!r} is a place that no table has: CO2eq is reckoned with the "
                      f"world's average, {found.g_per_kwh:.0f} g/kWh.  Countries are ISO 3166 codes or English names",
                      ResmonWarning, stacklevel=3)


def _default_name():
    notebook = os.environ.get("JPY_SESSION_NAME") if "ipykernel" in sys.modules else None
    script = sys.argv[0] if sys.argv and "ipykernel" not in sys.modules else "notebook"
    return os.path.basename(notebook or script)


class Monitor(Recorded):
    """Samples a process from a thread of its own, between start and stop.

    ::

        with resmon.Monitor(interval=0.1) as m:
            train()
            m.tag("trained")
        m.plot()

    What it knows is asked as of a :class:`Run` (``m.summary``, ``m.scopes``, ``m.to_pandas()``), also while it runs.

    :param interval: seconds between samples, from 0.001
    :param scopes: what scopes measure, "wall+cpu+rss+io+perf", or True for all of it; they are this monitor's then, or
        BusyError.  None: the wall clock, if no other monitor has the scopes; False: leaves them alone.  CPU time is of
        the thread that is in the scope; RSS and I/O are of the process
    :param domains: what is sampled, "process+tree+cgroup+node", also "cpu", "memory", "psi", "disk", "net", "energy",
        "gpu", "all" (the default)
    :param counters: performance counters of the process and what it starts: "default", "l2", "l3", "l2cache", "l3cache",
        "flops", "memory" and names of events, joined by "+"
    :param scope_counters: events counted in each scope, joined by "+": "instructions+cycles"
    :param name: of the run; by default that of the script or notebook
    :param pid: process to observe, by default this one
    :param carbon: where the machine stands: "FR", gCO2eq per kWh as a number, or a dict of country, region,
        cloud_provider, cloud_region, g_per_kwh, pue, wue
    :param record: flight recorder: a file that is the run up to the last sample, whatever kills the program
    :param json, csv, trace, openmetrics, emissions: files to be written; a path, or a dict with path and options: of json
        and trace interval (seconds between renewals), of csv whole_run, of emissions process
    :param mlflow: True: to the active run of the mlflow package, else as MLflow's variables say; an URI; or a dict of
        tracking_uri, experiment, run_id, run_name, series, spool, timeout and so on (a wrong key lists them all)
    :param prometheus: directory for node_exporter, or a dict of directory, interval, labels, keep
    :param pushgateway: URL, or a dict of url, job, interval, labels
    :param on_sample: called with each :class:`~resmon.sinks.Sample` from a thread of the library
    :param rows: of the table, even; 0: 400.  When it is full, neighbours merge and the interval of a row doubles
    :param smaps: PSS and USS, every 30 s or slower
    :param idle: who bears the energy of processors that idle: "active" (as the energy in use), "none", "allocated"
    :param max_events: newest scope instances kept one by one of each thread, for traces and the timeline of plots;
        0: none
    :param max_overhead: share of a CPU that sampling may take (0.01); expensive sources are read less often
    :param max_meter_share: share of a scope's time that a meter of it may cost (0.01)
    :param max_tags, max_scope_paths, max_scope_threads, max_scope_depth: bounds of what is kept; 0: the library's
    :param stop_timeout: seconds that stop() waits for sinks at most (10)
    :param fs_root: directory to read proc/ and sys/ below
    :param stacks: what stacks are sampled of, "cpu+memory+peak": CPU time, growth of memory, all threads at the highest
        memory; of Python code they have the interpreter's C functions
    :param stack_hz: samples per second of each thread's CPU time, to 1000; 0: 99
    :param fault_period: page faults for each sample of memory; 0: 64
    :param folded, folded_memory, speedscope, pprof: files of stacks to be written; a path, or a dict of path and interval.
        Without ``stacks`` they say what is sampled
    """

    _free = staticmethod(lib.monitor_free)
    _stop_library = staticmethod(lib.monitor_stop)

    def __init__(self, interval=0.1, *, scopes=None, domains=None, name=None, pid=0, carbon=None, record=None, json=None,
                 csv=None, trace=None, openmetrics=None, emissions=None, mlflow=None, prometheus=None, pushgateway=None,
                 on_sample=None, rows=0, smaps=False, idle="active", max_events=1024, max_overhead=0.0,
                 max_meter_share=0.0, max_tags=0, max_scope_paths=0, max_scope_threads=0, max_scope_depth=0,
                 stop_timeout=0.0, fs_root=None, stacks=None, stack_hz=0, fault_period=0, folded=None, folded_memory=None,
                 speedscope=None, pprof=None, counters=None, scope_counters=None):
        self._as_parameter_ = None
        self._state = "new"
        self._final = None
        self._pid = os.getpid()
        self._kept = []  # what the library reads while the monitor lives
        self._callbacks = []
        self._lock = RLock()  # held while it is started or stopped: the library wants one thread at a time for that
        if idle not in _IDLE:
            raise ValueError(f"idle: there is no {idle!r}; there are {', '.join(_IDLE)}")
        if trace is not None and max_events == 1024:
            max_events = 4096
        options = _abi.MonitorOptions(
            interval_ms=max(milliseconds(interval, "interval"), 1) if interval else 0, max_rows=rows,
            domains=combined(domains, _abi.DOMAINS, "domains") if domains is not None else 0,
            flags=_IDLE[idle] | (_abi.FLAG_SMAPS if smaps else 0) | (_abi.FLAG_NO_SCOPES if scopes is False else 0),
            pid=pid, scope_meters=combined(_abi.METERS if scopes is True else scopes, _abi.METERS, "scopes") if scopes else 0, max_overhead=max_overhead,
            max_meter_share=max_meter_share, name=encoded(_default_name() if name is None else name, "name"), fs_root=encoded(fs_root, "fs_root"),
            record=encoded(record, "record"), max_tags=max_tags, max_scope_paths=max_scope_paths,
            max_scope_threads=max_scope_threads, max_scope_depth=max_scope_depth,
            stop_timeout_ms=milliseconds(stop_timeout, "stop_timeout"), max_events=max_events,
            counters=encoded(counters, "counters"), scope_counters=encoded(scope_counters, "scope_counters"))
        if carbon is not None:
            place = carbon_options(carbon)
            options.carbon = ctypes.pointer(place)
            _warn_of_unknown_place(place)
        files = {"folded": folded, "folded_memory": folded_memory, "speedscope": speedscope, "pprof": pprof}
        stacks = sinks.stacks_wanted(files) if stacks is None else stacks
        options.stacks = combined(stacks, _abi.STACKS, "stacks") if stacks else 0
        options.stack_hz, options.fault_period = stack_hz, fault_period
        handle = c_void_p()
        lib.monitor_new(byref(options), byref(handle))
        self._as_parameter_ = handle
        wanted = {"json": json, "csv": csv, "trace": trace, "openmetrics": openmetrics, "emissions": emissions,
                  "mlflow": mlflow, "prometheus": prometheus, "pushgateway": pushgateway, **files}
        for kind, value in wanted.items():
            if value is not None and value is not False:
                sinks.add(self, kind, value)
        if on_sample is not None:
            self.add_callback(on_sample)

    # ---- life -----------------------------------------------------------------------------------

    def start(self):
        """Takes the first sample and starts the sampling thread.  Once; gives the monitor itself."""
        with self._lock:
            try:
                lib.monitor_start(self)
            except BusyError as busy:
                raise BusyError(f"{busy}".replace("start this one with RESMON_FLAG_NO_SCOPES", "make this one with "
                                                  "scopes=False")) from None
            self._state = "running"
            _running.add(self)
        return self

    def stop(self):
        """Takes the last sample, and waits until the sinks have had everything.  Stopping again is fine.

        An exception says that a sink failed at the end; the monitor has stopped all the same.
        """
        if self._pid != os.getpid() or sinks.is_delivering(self._callbacks):
            lib.monitor_stop(self)  # it refuses; whoever holds the lock may be waiting for this very callback
            return self
        with self._lock:
            try:
                lib.monitor_stop(self)
            except StateError:
                raise  # it goes on as it was
            except Error as failure:
                self._note_stopped()
                raise self._explained(failure) from None
            self._note_stopped()
        return self

    def _explained(self, failure):
        """The library cannot know the text of an exception in a callback."""
        own = {callback.index for callback in self._callbacks}
        for index, sink in enumerate(self.sinks):
            if sink.end_status == failure.status and str(failure).startswith(f"sink {sink.name}: ") and index in own:
                return type(failure)(f"sink {sink.name}: {sink.reason}")
        return failure

    def _note_stopped(self):
        self._state = "stopped"
        _running.discard(self)

    def __enter__(self):
        return self if self._state == "running" else self.start()

    def __exit__(self, kind, error, _trace):
        if kind is not None and self._state == "running":
            self._note(kind, error)
        try:
            self.stop()
        except Error as failure:
            # The program's own work is done, and its own exception matters more.
            warnings.warn(f"the run was recorded, but: {failure}", ResmonWarning, stacklevel=2)

    def _note(self, kind, error):
        try:
            text = str(error).replace("\0", " ")
            lib.monitor_tag(self, f"{kind.__name__}: {text}".rstrip(": ").encode("utf-8", "replace"))
        except Exception:  # pylint: disable=broad-except
            pass  # an exception that has no text must pass through all the same

    def __del__(self):
        handle = getattr(self, "_as_parameter_", None)
        if handle is None:
            return
        try:
            if self._state == "running" and self._pid == os.getpid():
                warnings.warn(f"{self!r} was dropped while it ran: stop it, or use it in a with statement",
                              ResourceWarning, stacklevel=2)
        finally:
            self._as_parameter_ = None
            if self._callbacks and self._pid == os.getpid():
                sinks.free_monitor(self._free, handle, self._callbacks, self._state != "new")
            else:
                self._free(handle)

    def __reduce__(self):
        raise TypeError("a monitor cannot be copied or pickled; its snapshot() can")

    @property
    def state(self):
        """"new", "running" or "stopped"."""
        return self._state

    # ---- while it runs --------------------------------------------------------------------------

    def tag(self, label):
        """Marks this moment with a label; any thread."""
        try:
            lib.monitor_tag(self, encoded(str(label), "label"))
        except StateError:  # without a text, as signal handlers may call it
            state = "stopping" if self._state == "running" else self._state
            raise StateError("a tag can be set while the monitor runs, and it " + (
                f"is {state}" if self._pid == os.getpid() else f"belongs to process {self._pid}, which forked")) from None

    def set_label(self, label):
        """Names what the run is doing now."""
        lib.monitor_set_label(self, encoded(str(label), "label"))

    def sample_now(self):
        """Takes a sample now, and returns when it is recorded."""
        lib.monitor_sample_now(self)

    def snapshot(self):
        """What was recorded so far, or in the end, as a Run that does not change any more."""
        return Run._own(self._take(lib.monitor_snapshot))

    def _take(self, function):
        handle = c_void_p()
        function(self, byref(handle))
        return handle

    def _get_run(self):
        if self._state == "running":
            return self.snapshot()
        if self._final is None:
            self._final = self.snapshot()
        return self._final

    def live(self, seconds=1.0):
        """In a notebook: shows the figures, and renews them every so many seconds while the monitor runs."""
        from .live import show
        show(self, seconds)

    # ---- sinks ----------------------------------------------------------------------------------

    def add_callback(self, on_sample, on_stop=None, name="callback"):
        """``on_sample(sample)`` for each sample, ``on_stop(run)`` at the end; before start.  They are called from a
        thread of the library; one that is slow loses samples (counted in info.dropped_rows) and delays nobody.  The
        first exception of each is shown, all are counted (``sinks``)."""
        sinks.add_callback(self, on_sample, on_stop, name)

    @property
    def sinks(self):
        """How the sinks fare, in the order in which they were added."""
        struct, found = _abi.SinkInfo(), []
        for index in range(lib.monitor_sink_count(self)):
            lib.monitor_get_sink(self, index, byref(struct))
            found.append(records.SinkInfo.of(struct))
        for callback in self._callbacks:
            if callback.failure and found[callback.index].status == sinks.CALLBACK_FAILED:
                found[callback.index].reason = callback.failure
        return found

    def __repr__(self):
        if self._state == "new" or self._as_parameter_ is None or self._pid != os.getpid():
            return f"<resmon.Monitor {self._state}>"
        return "<resmon.Monitor" + repr(self._get_run())[len("<resmon.Run"):]

    def __str__(self):
        return repr(self) if self._state == "new" else super().__str__()

    def _repr_html_(self):
        if self._state == "new":
            return f"<code>&lt;resmon.Monitor {self._state}&gt;</code>"
        return super()._repr_html_()


_running = weakref.WeakSet()


def _stop_all():
    """Before the interpreter goes away: sinks call back into it."""
    for monitor in list(_running):
        if monitor._pid != os.getpid():
            continue
        try:
            monitor.stop()
        except Error as failure:
            if sys.stderr is not None:
                print(f"resmon: {failure}", file=sys.stderr)


def _in_child():
    # The parent's monitors are inert here, and not the child's to stop.
    _running.clear()


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_in_child)
