# SPDX-License-Identifier: MIT
"""Finds and loads libresmon.so, and declares its functions.

The library is, in this order: the file in the variable RESMON_LIBRARY; a library that this process has already
loaded; the one in the wheel; the one of the system. A C extension may have scopes of its own: there must be one
library, for one tree of scopes.
"""
import ctypes
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_size_t, c_uint64, c_void_p

from . import __path__, _abi
from .errors import ArgumentError, ArgumentTypeError, LibraryError, error_of

SONAME = "libresmon.so.0"
_RTLD_NOLOAD = getattr(os, "RTLD_NOLOAD", 4)


def _candidates():
    """Returns a list of (path, mode, name in messages)."""
    named = os.environ.get("RESMON_LIBRARY")
    if named:
        return [(named, ctypes.DEFAULT_MODE, f"RESMON_LIBRARY names {named}, which")]
    # The package has two directories when it is installed editable: the source's, and one with the library.
    own = [os.path.join(directory, SONAME) for directory in __path__]
    return [(SONAME, ctypes.DEFAULT_MODE | _RTLD_NOLOAD, f"{SONAME}, which this process has loaded already,"),
            *((path, ctypes.DEFAULT_MODE, path) for path in own if os.path.exists(path)),
            (SONAME, ctypes.DEFAULT_MODE, f"the system's {SONAME}")]


def _load():
    failures = []
    for path, mode, what in _candidates():
        try:
            library = ctypes.CDLL(path, mode=mode)
        except OSError as error:
            if not mode & _RTLD_NOLOAD:
                failures.append(f"{what} cannot be loaded: {str(error).replace(f'{path}: ', '', 1)}")
            continue
        return library, path, _checked_version(library, what)
    if not os.environ.get("RESMON_LIBRARY"):
        failures.append("install the package with its library (pip install ./bindings/python), or name a library in "
                        "the variable RESMON_LIBRARY")
    raise LibraryError("; ".join(failures))


def _checked_version(library, what):
    try:
        library.resmon_version.restype = c_char_p
        found = library.resmon_version().decode("ascii", "replace")
    except AttributeError:
        raise LibraryError(f"{what} is no libresmon: it has no resmon_version()") from None
    wanted = ".".join(map(str, _abi.VERSION))
    if found.split(".")[:2] != wanted.split("."):
        raise LibraryError(f"{what} is libresmon {found}, and this package is for {wanted}: install both from the same "
                           "release")
    return found


_library, path, version = _load()
# Calls that neither block nor call back keep Python's lock: letting go of it costs more than they do.
_quick = ctypes.PyDLL(path, handle=_library._handle)

_library.resmon_last_error.restype = c_char_p


def last_error():
    """Returns the text of the last failure in this thread."""
    return _library.resmon_last_error().decode("utf-8", "replace")


def _raise_on_failure(status, _function, _arguments):
    if status != 0:
        raise error_of(status, last_error())
    return status


_OUT = POINTER(c_void_p)
_RUN = MONITOR = c_void_p

# Functions that return a status, which becomes an exception.  "!": quick, see above.
_STATUS_FUNCTIONS = {
    "monitor_new_text": (c_char_p, _OUT), "monitor_add": (MONITOR, c_char_p, c_char_p),
    "option_at": (c_size_t, POINTER(_abi.Option)), "option_bits": (c_char_p, c_char_p, POINTER(c_uint64)),
    "option_text": (_OUT,), "sink_kind_at": (c_size_t, POINTER(_abi.SinkKind)),
    "monitor_start": (MONITOR,), "monitor_stop": (MONITOR,),
    "monitor_tag!": (MONITOR, c_char_p), "monitor_set_label": (MONITOR, c_char_p),
    "monitor_sample_now": (MONITOR,), "monitor_save": (MONITOR, c_char_p),
    "monitor_snapshot": (MONITOR, _OUT), "monitor_summary": (MONITOR, _OUT), "monitor_scopes": (MONITOR, _OUT),
    "monitor_sources": (MONITOR, _OUT), "monitor_remarks": (MONITOR, _OUT),
    "monitor_add_sink": (MONITOR, POINTER(_abi.SinkOps), c_void_p),
    "monitor_get_sink": (MONITOR, c_size_t, POINTER(_abi.SinkInfo)),
    "run_load": (c_char_p, _OUT), "run_parse": (c_void_p, c_size_t, _OUT), "run_save": (_RUN, c_char_p),
    "run_document": (_RUN, _OUT), "run_save_csv": (_RUN, c_char_p),
    "run_append_emissions": (_RUN, POINTER(_abi.EmissionsOptions)),
    "run_push_mlflow_text": (_RUN, c_char_p),
    "mlflow_replay_text": (c_char_p, c_char_p, POINTER(_abi.MlflowReplayInfo)),
    "trace_save": (POINTER(_RUN), c_size_t, c_char_p),
    "run_get_info": (_RUN, POINTER(_abi.RunInfo)), "run_get_end": (_RUN, POINTER(_abi.RunEnd)),
    "run_get_usage": (_RUN, POINTER(_abi.RunUsage)),
    "run_get_process": (_RUN, c_size_t, POINTER(_abi.RunProcess)),
    "run_get_node": (_RUN, c_size_t, POINTER(_abi.RunNode)), "run_get_rank": (_RUN, c_size_t, POINTER(_abi.RunRank)),
    "run_get_scope_spread": (_RUN, c_size_t, POINTER(_abi.ScopeSpread)),
    "job_text": (_RUN, c_char_p, _OUT), "merge_new": (_OUT,), "merge_add": (c_void_p, _RUN), "merge_run": (c_void_p, _OUT),
    "monitor_set_end": (MONITOR, POINTER(_abi.RunEnd)), "monitor_stop_at_exit": (MONITOR,),
    "program_set_end": (POINTER(_abi.RunEnd),), "program_finish": (c_int32,), "program_end_on_signals": (),
    "run_get_fact": (_RUN, c_size_t, POINTER(_abi.RunFactEntry)), "run_get_tag": (_RUN, c_size_t, POINTER(_abi.RunTag)),
    "run_get_source": (_RUN, c_size_t, POINTER(_abi.RunSource)),
    "run_get_scope": (_RUN, c_size_t, POINTER(_abi.RunScope)), "run_get_event": (_RUN, c_size_t, POINTER(_abi.RunEvent)),
    "run_get_counter": (_RUN, c_size_t, POINTER(_abi.RunCounter)), "run_get_line": (_RUN, c_size_t, POINTER(_abi.RunLine)),
    "run_get_scope_name": (_RUN, c_size_t, POINTER(_abi.RunScope)),
    "run_get_column": (_RUN, c_size_t, POINTER(_abi.Column)),
    "run_get_stack": (_RUN, c_size_t, POINTER(_abi.RunStack)),
    "run_get_frame": (_RUN, c_size_t, c_size_t, POINTER(_abi.RunFrame)),
    "run_get_stack_info": (_RUN, c_int32, POINTER(_abi.RunStackInfo)),
    "stack_interval": (c_double, c_double, c_double, POINTER(c_double), POINTER(c_double)),
    "run_stack_loss": (_RUN, c_int32, POINTER(c_uint64)),
    "run_get_peak_stack": (_RUN, c_size_t, POINTER(_abi.RunPeakStack)),
    "run_get_peak_frame": (_RUN, c_size_t, c_size_t, POINTER(_abi.RunFrame)),
    "run_save_folded": (_RUN, c_int32, c_char_p),
    "run_save_pprof": (_RUN, c_char_p),
    "run_get_energy": (_RUN, POINTER(_abi.Energy)), "run_get_energy_part": (_RUN, c_size_t, POINTER(_abi.EnergyPart)),
    "run_export_arrow": (_RUN, c_int32, c_void_p),
    "run_get_headline": (_RUN, POINTER(_abi.Headline)),
    "report_text": (_RUN, POINTER(_abi.ReportOptions), _OUT), "report_lines": (_RUN, c_char_p, _OUT),
    "report_page": (POINTER(_RUN), c_size_t, POINTER(_abi.PageOptions), _OUT),
    "report_save": (POINTER(_RUN), c_size_t, POINTER(_abi.PageOptions), c_char_p),
    "prometheus_text": (_RUN, c_void_p, _OUT),
    "metric_at": (c_size_t, POINTER(_abi.Metric)), "metric_find": (c_char_p, POINTER(_abi.Metric)),
    "view_at": (c_size_t, POINTER(_abi.View)), "format_value": (c_char_p, c_double, c_char_p, c_size_t),
    "parse_value": (c_char_p, c_char_p, POINTER(c_double)),
    "task_begin!": (c_void_p, c_uint64, c_uint64, _OUT),
    "site_intern_at": (c_char_p, c_char_p, c_char_p, c_uint64, _OUT),
    "watch_begin!": (c_uint64, POINTER(c_uint64)), "watch_lap!": (c_uint64, POINTER(_abi.Watched)),
    "watch_end!": (c_uint64, POINTER(_abi.Watched)), "timed_take!": (POINTER(_abi.Timed), POINTER(_abi.Watched)),
    "carbon_find": (POINTER(_abi.CarbonOptions), POINTER(_abi.CarbonIntensity)),
    "carbon_convert": (c_double, POINTER(_abi.CarbonOptions), POINTER(_abi.CarbonCost)),
    "doctor_examine": (POINTER(_abi.DoctorOptions), _OUT),
    "doctor_get_entry": (c_void_p, c_size_t, POINTER(_abi.DoctorEntry)), "doctor_report": (c_void_p, _OUT),
    "doctor_rule": (c_void_p, c_int32, _OUT),
    "measure_idle": (c_double, c_void_p, _OUT),
    "compare_runs": (_OUT, c_size_t, _OUT, c_size_t, POINTER(_abi.ComparisonOptions), POINTER(_abi.Comparison)),
    "promql_value": (POINTER(_abi.PromqlOptions), c_char_p, c_double, POINTER(c_double)),
    "promql_pod_peak": (POINTER(_abi.PromqlOptions), c_char_p, c_char_p, c_double, POINTER(_abi.PodPeak)),
    "promql_pod_energy": (POINTER(_abi.PromqlOptions), c_char_p, c_char_p, c_double, c_double, POINTER(_abi.PodEnergy)),
    "promql_pods_energy": (POINTER(_abi.PromqlOptions), c_char_p, c_char_p, c_double, c_double, POINTER(_abi.PodEnergy)),
    "job_detect": (_OUT,), "job_get_info": (c_void_p, POINTER(_abi.JobInfo)), "hostlist_expand": (c_char_p, _OUT),
    "comparison_text": (POINTER(_abi.Comparison), _OUT),
    "bench_new": (_OUT,), "bench_load": (c_char_p, _OUT), "bench_add": (c_void_p, c_char_p, _RUN),
    "bench_add_usage": (c_void_p, c_char_p, POINTER(_abi.RunUsage), POINTER(_abi.RunEnd)),
    "bench_run": (c_void_p, c_char_p, _abi.BenchFunction, c_void_p, POINTER(_abi.BenchOptions)),
    "bench_text": (c_void_p, c_char_p, _OUT),
    "trend_new": (_OUT,), "trend_add": (c_void_p, c_char_p, c_void_p), "trend_text": (c_void_p, c_char_p, c_size_t, _OUT),
    "diff_set_runs": (c_void_p, c_void_p, c_void_p),
    "diff_make": (c_void_p, c_size_t, c_void_p, c_size_t, c_char_p, _OUT),
    "diff_get": (c_void_p, c_size_t, POINTER(_abi.DiffRow)),
    "diff_text": (c_void_p, c_char_p, c_size_t, c_int32, _OUT),
}

# The others: what they return, and take.
_PLAIN_FUNCTIONS = {
    "set_log": (None, _abi.LogFunction, c_void_p, c_int32),
    "monitor_free": (None, MONITOR), "monitor_sink_count": (c_size_t, MONITOR),
    "run_free": (None, _RUN), "text_free": (None, c_void_p), "doctor_free": (None, c_void_p),
    "run_fact_count": (c_size_t, _RUN), "run_tag_count": (c_size_t, _RUN), "run_source_count": (c_size_t, _RUN),
    "run_scope_name_count": (c_size_t, _RUN),
    "run_scope_count": (c_size_t, _RUN), "run_process_count": (c_size_t, _RUN), "run_event_count": (c_size_t, _RUN), "run_column_count": (c_size_t, _RUN),
    "run_counter_count": (c_size_t, _RUN), "run_row_count": (c_size_t, _RUN), "run_energy_part_count": (c_size_t, _RUN),
    "run_stack_count": (c_size_t, _RUN), "run_peak_stack_count": (c_size_t, _RUN), "run_line_count": (c_size_t, _RUN),
    "run_series": (c_void_p, _RUN, c_size_t, c_int32), "run_row_first_ns": (c_void_p, _RUN),
    "run_row_last_ns": (c_void_p, _RUN), "run_row_samples": (c_void_p, _RUN),
    "node_figure_count": (c_size_t,), "node_figure_name": (c_char_p, c_size_t),
    "run_node_figure": (c_double, _RUN, c_size_t), "metric_count": (c_size_t,), "view_count": (c_size_t,),
    "option_count": (c_size_t,), "sink_kind_count": (c_size_t,),
    "doctor_entry_count": (c_size_t, c_void_p),
    "job_free": (None, c_void_p), "job_host_count": (c_size_t, c_void_p), "job_host": (c_char_p, c_void_p, c_size_t),
    "hostlist_free": (None, c_void_p), "hostlist_count": (c_size_t, c_void_p),
    "hostlist_name": (c_char_p, c_void_p, c_size_t),
    "scope_begin!": (c_uint64, c_void_p), "scope_end!": (None, c_uint64), "scope_fail!": (None, c_uint64),
    "scope_resumed!": (None, c_uint64),
    "scope_here!": (c_uint64,),
    "scope_begin_under!": (c_uint64, c_void_p, c_uint64, c_uint64),
    "task_here!": (c_uint64, c_void_p), "task_end!": (None, c_void_p), "task_fail!": (None, c_void_p),
    "bench_free": (None, c_void_p), "bench_count": (c_size_t, c_void_p),
    "bench_name": (c_char_p, c_void_p, c_size_t), "bench_run_count": (c_size_t, c_void_p, c_size_t),
    "trend_free": (None, c_void_p), "merge_free": (None, c_void_p),
    "run_node_count": (c_size_t, _RUN), "run_rank_count": (c_size_t, _RUN),
    "run_scope_walls": (POINTER(c_double), _RUN, c_size_t),
    "diff_free": (None, c_void_p), "diff_verdict": (c_int32, c_void_p), "diff_count": (c_size_t, c_void_p),
    "timed_watch!": (None, c_void_p, c_uint64, POINTER(_abi.Timed)),
}


def _function(name):
    source = _quick if name.endswith("!") else _library
    try:
        return source["resmon_" + name.rstrip("!")]
    except AttributeError:
        raise LibraryError(f"{path} (libresmon {version}) has no resmon_{name.rstrip('!')}: this package and the "
                           "library are not from the same release") from None


class _Functions:
    """The library's functions, without ``resmon_``; each gets its prototype on first use."""

    def __getattr__(self, name):
        key = next((key for key in (name, name + "!") if key in _STATUS_FUNCTIONS or key in _PLAIN_FUNCTIONS), None)
        if key is None:
            raise AttributeError(f"this package has no function resmon_{name}")
        function = _function(key)
        if key in _STATUS_FUNCTIONS:
            function.restype, function.argtypes, function.errcheck = c_int32, _STATUS_FUNCTIONS[key], _raise_on_failure
        else:
            function.restype, *function.argtypes = _PLAIN_FUNCTIONS[key]
        setattr(self, name, function)
        return function


lib = _Functions()


def take_text(function, *arguments):
    """Returns the text that a function writes to its last argument, as str; frees the library's copy."""
    text = c_void_p()
    function(*arguments, byref(text))
    try:
        return ctypes.string_at(text.value).decode("utf-8", "replace")
    finally:
        lib.text_free(text)


def text(value):
    """Returns a text of the library as str; NULL is ""."""
    return value.decode("utf-8", "replace") if value else ""


def encoded(value, what="text"):
    """Encodes a text for the library: str, bytes or a path."""
    if value is None:
        return None
    try:
        data = os.fsencode(os.fspath(value)) if isinstance(value, os.PathLike) else \
            value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise ArgumentError(f"{what}: {value!r} cannot be encoded in UTF-8") from None
    if not isinstance(data, bytes):
        raise ArgumentTypeError(f"{what}: expected a text, not {type(value).__name__}")
    if b"\0" in data:
        raise ArgumentError(f"{what}: the text has a null character")
    return data


def set_field(struct, name, value, what):
    """Sets a field of options.

    A number for a text field is refused here, because ctypes would use it as an address.
    """
    is_text = dict(struct._fields_)[name] is c_char_p
    if isinstance(value, bool) and not is_text:
        raise ArgumentTypeError(f"{what}: a number is wanted, not bool")
    try:
        setattr(struct, name, encoded(value, what) if is_text else value)
    except TypeError as error:
        raise error if is_text else ArgumentTypeError(f"{what}: a number is wanted, not {type(value).__name__}") from None
