# SPDX-License-Identifier: MIT
"""The object that observes a process: ``with resmon.Monitor() as m: ...``."""
from __future__ import annotations

import atexit
import os
import sys
import warnings
import weakref
from _thread import RLock
from ctypes import byref, c_void_p

from . import _abi, ends, sinks
from ._generated_records import SinkInfo
from ._library import encoded, lib, take_text
from .cells import name_cells
from .errors import ArgumentTypeError, BusyError, Error, StateError, warn
from .options import carbon_options, current_place, set_latest_place, place_of, text_of
from .options import sinks as sink_kinds
from .run import Recorded, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from typing_extensions import Unpack

    from ._types import Options
    from .sinks import Sample


def _default_name():
    notebook = os.environ.get("JPY_SESSION_NAME") if "ipykernel" in sys.modules else None
    script = sys.argv[0] if sys.argv and "ipykernel" not in sys.modules else "notebook"
    return os.path.basename(notebook or script)


_SCOPES = {True: "all", False: "none"}


def _options_text(options: dict[str, Any], has_trace: bool) -> bytes:
    """Returns the options of a monitor, without its sinks, as the text that the library parses."""
    own = {key: value for key, value in options.items() if key not in sink_kinds() and key != "carbon"}
    if isinstance(own.get("scopes"), bool):
        own["scopes"] = _SCOPES[own["scopes"]]
    if own.get("name") is None:
        own["name"] = _default_name()
    if own.get("events") is None and not has_trace and own.get("scopes") != "none":
        own["events"] = 1024
    elif own.get("events") == 0:
        del own["events"]
    place = options.get("carbon") if options.get("carbon") is not None else current_place()
    parts = text_of("monitor", own), text_of("carbon", place_of(place), "carbon.") if place is not None else b""
    return b",".join(filter(None, parts))


class Monitor(Recorded):
    """Samples a process from its own thread, between start and stop.

    ::

        with resmon.Monitor(interval=0.1) as m:
            train()
            m.tag("trained")
        print(m.summary)
        m.plot()

    A monitor has the properties and methods of a :class:`~resmon.Run` (``m.summary``, ``m.scopes``,
    ``m.to_pandas()``), also while it runs.

    Options have the same names, bounds and defaults as in C and in the variable RESMON. None selects the default.
    Durations are in seconds, or texts such as "100ms". Names are joined by "+", or given as a sequence. For a sink,
    give the value of its main option, or a dict of its options: ``json="run.json"``,
    ``json={"path": "run.json", "interval": 10}``. A wrong name or a value out of bounds raises an
    :class:`~resmon.Error`; its text has the nearest name or the bounds. ``resmon.keywords()`` lists all options
    of the monitor and of the sinks. Specific to Python:

    :param interval: time between samples, 1 ms to 24 h; default 0.1 s
    :param scopes: also True for all per-scope metrics, or False for none. If set, start() raises BusyError if another
        monitor has the scopes
    :param name: default: the name of the script or notebook
    :param events: default 1024, for the timeline of plots. 0: no events, but a trace still has its own default
    :param carbon: location of the machine: "FR", gCO2eq per kWh as a number, or a dict. resmon.carbon.set_place() sets
        it for all monitors
    :param mlflow: True: to the active run of the mlflow package, otherwise as the variables of MLflow select
    :param on_sample: called with each :class:`~resmon.sinks.Sample`, from a thread of the library

    .. generated: keywords

    :param domains: what is sampled; process, tree, cgroup, node, cpu, memory, psi, disk, net, energy, gpu, all;
        default all
    :param scopes: what scopes measure: cpu is CPU time of the thread, pcpu of the process and its children; none
        disables scopes; wall, cpu, pcpu, rss, io, perf, all, none; default wall, unless another monitor has the
        scopes
    :param name: a name for the run
    :param label: a label of the run, in reports, MLflow's tags, Prometheus and datasets; repeatable
    :param record: record the run in this file; it survives SIGKILL, abort and OOM kills: on the same machine up to
        the last sample, elsewhere up to the last copy (5 s at most, on network file systems 60 s); use %p in the path
        for programs that start others, %r for ranks; default none
    :param stacks: sample stacks of CPU time, of memory growth, or of all threads at high memory; cpu, memory, peak,
        all; default none
    :param stack_hz: stack samples per second of CPU time of a thread; 1 to 1000 Hz; default 99 Hz
    :param fault_period: page faults per sample of memory growth; 1 to 1000000; default 64
    :param counters: performance counters, joined by +: default, l2, l3, l2cache, l3cache, flops, memory, or names of
        events; default none
    :param scope_counters: events counted in each scope, at most 8, joined by +; default the group default, with
        scopes=perf
    :param smaps: also PSS and USS, every 30 s or slower
    :param idle: how idle CPU energy is attributed to the program: by its share of the machine's capacity (used), not
        at all (none), or by the CPUs it may run on (allocated); used, none, allocated; default used
    :param pid: another process to observe; 1 to 2147483647; default this process
    :param cgroup: cgroup to observe, by its path, with cgroups below it; default none
    :param job: batch job to observe, by its id: its processes on this host, by its cgroup or else by their
        environment; not this one and what it starts; default none
    :param each: one row per process: when it ran, CPU time, peak RSS, how it ended
    :param command: command line to show instead of the program's own, which may hold secrets; default as /proc has it
    :param rows: rows of the table, an even number; when it is full, adjacent rows are merged and the interval
        doubles; 2 to 1048576; default 400
    :param events: newest scope instances kept individually per thread; 1 to 1048576; default none; for a trace 4096
    :param tags: newest tags kept; 1 to 1048576; default 1024
    :param scope_paths: maximum number of pairs of thread and call path; 8 to 1048576; default 2048
    :param scope_threads: maximum number of threads with scopes at the same time; 1 to 65536; default 256
    :param scope_depth: maximum nesting of scopes; 1 to 256; default 64
    :param max_overhead: maximum share of one CPU for sampling; above it, expensive sources are read and samples taken
        less often; above 0 to 1; default 0.01
    :param max_meter_share: maximum measurement overhead of a scope; above it only a random subset of calls is
        measured; above 0 to 1000000000; default 0.01
    :param stop_timeout: maximum wait for sinks at the end of the run; 1 ms to 24 h; default 10 s
    :param fs_root: directory to read proc/ and sys/ below; default /
    :param carbon: where the machine stands, with country, region, cloud_provider, cloud_region, g_per_kwh, pue, wue,
        codecarbon, no_site
    :param json: the run document; its path, or a dict, also with interval, final_only, late
    :param csv: the table, one line per sample; its path, or a dict, also with whole_run
    :param emissions: one line of codecarbon's emissions.csv, at the end; its path, or a dict, also with process
    :param trace: a trace of scopes and counters for Perfetto; keeps the newest 4096 scopes of each thread (32 MiB
        more of address space), or events=; its path, or a dict, also with interval
    :param html: HTML report: charts, tables, flame graphs; its path, or a dict, also with interval
    :param markdown: the report in Markdown, for a pull request or the summary of a CI job; its path, or a dict, also
        with interval
    :param tensorboard: scalars for TensorBoard, beside those of the training; its path, or a dict, also with interval
    :param mlflow: a run on an MLflow server, by default that of MLFLOW_TRACKING_URI; its tracking_uri, or a dict,
        also with experiment, experiment_id, run_id, run_name, user, password, token, ca_path, client_cert, workspace,
        spool, node_index, batch_metrics, interval, timeout, budget, series, no_artifact, spool_only, model_metrics,
        no_spool, finish, insecure_tls
    :param prometheus: a file for node_exporter while the program runs; its directory, or a dict, also with interval,
        keep, no_node, no_job, no_pid, label
    :param pushgateway: a push to a Pushgateway, at the end; its url, or a dict, also with job, interval, timeout,
        ca_path, insecure_tls, label
    :param otlp: OpenTelemetry metrics by OTLP over HTTP, by default to OTEL_EXPORTER_OTLP_ENDPOINT; its endpoint, or
        a dict, also with headers, service, ca_path, client_cert, interval, timeout, insecure_tls
    :param folded: stacks of CPU time as lines for flamegraph.pl; its path, or a dict, also with interval
    :param folded_memory: stacks of memory growth as lines for flamegraph.pl; its path, or a dict, also with interval
    :param folded_file: stacks at which pages of files became resident, as lines for flamegraph.pl; its path, or a
        dict, also with interval
    :param folded_resident: stacks of memory that is still there at the end, as lines for flamegraph.pl; its path, or
        a dict, also with interval
    :param pprof: stacks for go tool pprof, speedscope.app; its path, or a dict, also with interval

    .. generated: end
    """

    _warns = True  # False: the user has not chosen the options
    _free = staticmethod(lib.monitor_free)
    _stop_library = staticmethod(lib.monitor_stop)

    def __init__(self, interval: float | str | None = None, *, on_sample: Callable[[Sample], object] | None = None,
                 **options: Unpack[Options]) -> None:
        self._as_parameter_: Any = None
        self._state = "new"
        self._is_left = False  # the library stops it at the exit of the process
        self._final: Run | None = None
        self._pid = os.getpid()
        self._callbacks: list[Any] = []
        self._stores: list[Any] = []
        self._is_sent_by_python = False  # over HTTP, as there is no libcurl
        self._servers: list[str | None] = []
        self._lock = RLock()  # held while it is started or stopped: the library wants one thread at a time for that
        wanted = {kind: value for kind, value in options.items() if kind in sink_kinds() and value is not None and
                  value is not False}
        text = _options_text({**options, "interval": interval}, "trace" in wanted)
        handle = c_void_p()
        lib.monitor_new_text(text, byref(handle))
        self._as_parameter_, place = handle, options.get("carbon")
        self._has_stacks = bool(options.get("stacks"))
        if place is not None:
            carbon_options(place)  # raises ArgumentError if it is invalid
            set_latest_place(place)
        for kind, value in wanted.items():
            sinks.add(self, kind, value)
        if on_sample is not None:
            self.add_callback(on_sample)

    # ---- life -----------------------------------------------------------------------------------

    def start(self) -> Monitor:
        """Takes the first sample, starts the sampling thread, and returns the monitor.

        A monitor can be started once: otherwise StateError. BusyError: another monitor has the scopes, or a running
        process uses the recording. NoProcessError: there is no process ``pid``.
        """
        with self._lock:
            for remark in filter(None, take_text(lib.monitor_remarks, self).split("\n") if self._warns else ()):
                warn(remark)
            if self._has_stacks:
                name_cells()
            try:
                lib.monitor_start(self)
            except BusyError as busy:
                raise BusyError(f"{busy}".replace("start this one with RESMON_FLAG_NO_SCOPES", "make this one with "
                                                  "scopes=False")) from None
            self._state = "running"
            _running.add(self)
            ends.watch_exit(_stop_all)
        return self

    def stop(self) -> Monitor:
        """Takes the last sample, waits until the sinks have finished, and returns the monitor.

        The wait is limited by stop_timeout. If a sink failed at the end, its error is raised, but the monitor has
        stopped. Stopping again is allowed. StateError: not started, or called from a callback of this monitor.
        """
        if self._pid != os.getpid() or sinks.is_delivering(self._callbacks):
            lib.monitor_stop(self)  # raises StateError; the holder of the lock may be waiting for this callback
            return self
        with self._lock:
            try:
                lib.monitor_stop(self)
            except StateError:
                raise  # it still runs
            except Error as failure:
                self._note_stopped()
                self._deliver()
                raise self._explained(failure) from None
            self._note_stopped()
            self._deliver()
        return self

    def _deliver(self):
        """Delivers to stores that only the mlflow package can write to."""
        servers, self._servers = self._servers, []
        for uri in servers:
            from .mlflow import upload_left
            upload_left(self, uri)
        stores, self._stores = self._stores, []
        for store in stores:
            store.deliver(self)

    def _explained(self, failure):
        """Adds the text of an exception in a callback, which the library cannot know."""
        own = {callback.index for callback in self._callbacks}
        for index, sink in enumerate(self.sinks):
            if sink.end_status == failure.status and str(failure).startswith(f"sink {sink.name}: ") and index in own:
                return type(failure)(f"sink {sink.name}: {sink.reason}")
        return failure

    def _note_stopped(self):
        self._state = "stopped"
        _running.discard(self)

    def _leave_to_exit(self):
        """Whether the library will stop the monitor when the process exits.

        The exit status is not known before. No part of the monitor may need the interpreter then.
        """
        if self._callbacks or self._stores or self._is_sent_by_python:
            return False
        try:
            lib.monitor_stop_at_exit(self)
        except Error:
            return False
        self._is_left = True
        self._note_stopped()
        return True

    def __enter__(self) -> Monitor:
        return self if self._state == "running" else self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None) -> None:
        if kind is not None and self._state == "running":
            self._note(kind, error)
            self._note_end(error)
        try:
            self.stop()
        except Error as failure:
            # A warning, as the work of the program is done, and an exception of its own matters more.
            warn(f"the run was recorded, but: {failure}")

    def _note(self, kind, error):
        try:
            text = str(error).replace("\0", " ")
            lib.monitor_tag(self, f"{kind.__name__}: {text}".rstrip(": ").encode("utf-8", "replace"))
        except Exception:  # pylint: disable=broad-except
            pass  # str() of the exception may fail

    def _note_end(self, error):
        end = ends.end_of(error)
        if end is not None:
            try:
                lib.monitor_set_end(self, byref(end))
            except Error:
                pass  # it is being stopped in another thread

    def __del__(self):
        handle = getattr(self, "_as_parameter_", None)
        if handle is None or self._is_left:
            return
        try:
            if self._state == "running" and self._pid == os.getpid():
                warnings.warn(f"{self!r} was dropped while it ran: call stop(), or use a with statement",
                              ResourceWarning, stacklevel=2)
        finally:
            self._as_parameter_ = None
            if self._callbacks and self._pid == os.getpid():
                sinks.free_monitor(self._free, handle, self._callbacks, self._state != "new")
            else:
                self._free(handle)

    def __reduce__(self):
        raise ArgumentTypeError("a monitor cannot be copied or pickled; use its snapshot()")

    @property
    def state(self) -> str:
        """State of the monitor: "new", "running" or "stopped"."""
        return self._state

    # ---- while it runs --------------------------------------------------------------------------

    def tag(self, label: object) -> None:
        """Sets a tag: a label at this moment, of which at most 111 bytes are kept.

        Any thread. StateError: the monitor is not running.
        """
        try:
            lib.monitor_tag(self, encoded(str(label), "label"))
        except StateError:  # without a text, as signal handlers may call it
            state = "stopping" if self._state == "running" else self._state
            raise StateError("a tag can be set while the monitor runs, but it " + (
                f"is {state}" if self._pid == os.getpid() else f"belongs to process {self._pid}, which forked")) from None

    def set_label(self, label: object) -> None:
        """Sets the label of the run, which describes its current work; at most 127 bytes are kept.

        StateError: the monitor is not running.
        """
        lib.monitor_set_label(self, encoded(str(label), "label"))

    def sample_now(self) -> None:
        """Takes a sample now, and returns when it is recorded.

        StateError: the monitor is not running.
        """
        lib.monitor_sample_now(self)

    def snapshot(self) -> Run:
        """Returns the data recorded so far, or in the end, as an immutable :class:`~resmon.Run`.

        Stack frames are symbolized (function and line) when the monitor has stopped; until then they are module and
        offset. StateError: not started.
        """
        return Run._own(self._take(lib.monitor_snapshot))

    def _take(self, function):
        handle = c_void_p()
        function(self, byref(handle))
        return handle

    def _get_run(self) -> Run:
        if self._state == "running":
            return self.snapshot()
        if self._final is None:
            self._final = self.snapshot()
        return self._final

    def live(self, seconds: float = 1.0) -> None:
        """Shows the values in a notebook and updates them while the monitor runs.

        Starts the monitor if it is new.

        :param seconds: time between updates, in seconds
        """
        from .live import show
        show(self, seconds)

    # ---- sinks ----------------------------------------------------------------------------------

    def add_callback(self, on_sample: Callable[[Sample], object], on_stop: Callable[[Run], object] | None = None,
                     name: str = "callback") -> None:
        """Adds functions that are called with the samples and with the final run; before start only.

        The functions are called from a thread of the library. A slow function loses samples (counted in
        ``info.dropped_rows``) and delays nothing else. The first exception of each callback is printed; all are
        counted in ``sinks``.

        :param on_sample: called with each :class:`~resmon.sinks.Sample`
        :param on_stop: called with the :class:`~resmon.Run` at the end; default none
        :param name: name of the sink in ``sinks``
        """
        sinks.add_callback(self, on_sample, on_stop, name)

    @property
    def sinks(self) -> list[SinkInfo]:
        """State of each sink (:class:`~resmon.records.SinkInfo`), in the order in which they were added."""
        found = list(SinkInfo.each(lib.monitor_sink_count, lib.monitor_get_sink, self))
        for callback in self._callbacks:
            if callback.failure and found[callback.index].status == _abi.EIO:
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


_running: weakref.WeakSet[Monitor] = weakref.WeakSet()


def _stop_all(error=None):
    """Stops all monitors before the interpreter ends, because sinks call back into it."""
    error = error or ends.uncaught()
    for monitor in list(_running):
        if monitor._pid != os.getpid():
            continue
        monitor._note_end(error)
        try:
            if error is None and monitor._leave_to_exit():
                continue
            monitor.stop()
        except Error as failure:
            if sys.stderr is not None:
                print(f"resmon: {failure}", file=sys.stderr)


def _at_exit():
    _stop_all()
    if "resmon.http_client" in sys.modules:
        from . import http_client
        http_client.withdraw()


def _in_child():
    # The parent's monitors are inert here, and not the child's to stop.
    _running.clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
