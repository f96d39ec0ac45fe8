# SPDX-License-Identifier: MIT
"""The structures of libresmon's interface as ctypes sees them, in the order of include/resmon.

A test compiles the headers and compares every size, offset and constant with what stands here.
"""
import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

VERSION = (0, 1)  # of the headers that these structures are from: major and minor

# One letter for each type of the interface.
_TYPES = {"U": c_uint64, "I": c_int64, "i": c_int32, "u": c_uint32, "d": c_double, "z": c_size_t, "s": c_char_p,
          "p": c_void_p}


class _Sized(ctypes.Structure):
    """A structure that starts with its size."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


def _sized(name, *groups):
    """A structure "name" of fields given as "U interval_ms flags", or as (field, type)."""
    fields = [("struct_size", c_size_t)]
    for group in groups:
        if isinstance(group, tuple):
            fields.append(group)
        else:
            letter, *names = group.split()
            fields.extend((field, _TYPES[letter]) for field in names)
    return type(name, (_Sized,), {"_fields_": fields, "__module__": __name__})


# status.h
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
LOG_WARNING, LOG_INFO, LOG_DEBUG = 1, 2, 3

# metric.h
Metric = _sized("Metric", "U id", "s name unit", "i kind level", "s origin help")
GAUGE, COUNTER = 1, 2
LEVELS = {1: "process", 2: "tree", 3: "cgroup", 4: "node", 5: "device"}

# carbon.h
CarbonOptions = _sized("CarbonOptions", "s country region cloud_provider cloud_region", "d g_per_kwh pue wue", "U flags")
CarbonIntensity = _sized("CarbonIntensity", "d g_per_kwh pue wue", "i basis year", "s place iso3 country source")
CarbonCost = _sized("CarbonCost", "d it_kwh facility_kwh gco2eq water_l coal_kg natural_gas_kg petroleum_kg")
CARBON_ZERO = 4
BASES = {1: "given", 2: "cloud", 3: "region", 4: "country", 5: "world"}

# run.h, table.h, summary.h, energy.h
RunInfo = _sized("RunInfo", "s state label", "I start_realtime_ns duration_ns", "U samples stride late_samples",
                 "U sampler_cpu_ns sampler_wall_ns", "d scopes_ns", "U memory_bytes dropped_tags dropped_threads",
                 "U dropped_scopes dropped_rows dropped_events dropped_lines")
RunFactEntry = _sized("RunFactEntry", "s group key value", "i is_number reserved")
RunTag = _sized("RunTag", "I t_ns", "s label")
RunSource = _sized("RunSource", "s name", "i status provenance", "s reason", "U reads failures cost_ns cost_max_ns every")
RunScope = _sized("RunScope", "s name file function", "U line", "I parent", "U depth calls folded open threads",
                  "d wall_ns self_ns wall_min_ns wall_max_ns wall_stddev_ns open_ns", "U cpu_calls", "d cpu_ns",
                  "U io_calls", "d io_read_bytes io_write_bytes io_read_chars io_write_chars", "U rss_calls",
                  "d rss_peak_bytes", "i cpu_provenance io_provenance rss_provenance energy_provenance",
                  "d energy_j energy_uncertainty_j energy_gco2eq", "U counter_calls", "d counter_running",
                  "i counter_provenance reserved")
RunLine = _sized("RunLine", "s file function", "U line hits rss_hits", "d wall_ns rss_bytes rss_max_bytes")
RunCounter = _sized("RunCounter", "s name unit reason", "i status reserved")
RunEvent = _sized("RunEvent", "s name thread_name", "U thread_id", "I start_ns duration_ns", "U depth is_open")
Column = _sized("Column", "s metric instance unit source", "i kind level")
Statistics = _sized("Statistics", "U n resets", "d first last min max mean integral p50 p95 duration_s",
                    "d over20_s over40_s over80_s over100_s")
EnergyPart = _sized("EnergyPart", "s name method", "d node_j tree_j", "i provenance")
Energy = _sized("Energy", "d node_j tree_j modelled_share node_gco2eq tree_gco2eq node_water_l tree_water_l",
                "d g_per_kwh pue wue", "i provenance basis year", "s place source remark")
PROVENANCES = {0: "none", 1: "measured", 2: "sampled", 3: "modelled", 4: "shared"}
SERIES = {"last": 0, "min": 1, "max": 2, "mean": 3, "value": 4}

# scope.h, watch.h


class Site(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("file", c_char_p), ("function", c_char_p), ("line", c_uint32), ("id", c_uint32)]


class Timed(ctypes.Structure):
    _fields_ = [("site", c_void_p), ("scope", c_uint64), ("meter", c_uint64), ("start_ns", c_int64),
                ("watch", c_uint64)]


Watched = _sized("Watched", "d wall_ns cpu_ns rss_bytes rss_peak_bytes io_read_bytes io_write_bytes io_read_chars",
                 "d io_write_chars", "i rss_provenance reserved")

# sink.h
OnRun = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p)
OnTag = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int64, c_char_p)
OnFlush = ctypes.CFUNCTYPE(c_int32, c_void_p)
OnClose = ctypes.CFUNCTYPE(None, c_void_p)
Rows = _sized("Rows", "p run", "z row_count column_count", ("t_ns", POINTER(c_int64)), ("values", POINTER(c_double)),
              "U dropped_rows")
OnRows = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Rows))
SinkOps = _sized("SinkOps", "s name", ("start", OnRun), ("rows", OnRows), ("tag", OnTag), ("stop", OnRun),
                 ("flush", OnFlush), ("close", OnClose), ("snapshot", OnRun), "U snapshot_interval_ms flags")
SinkInfo = _sized("SinkInfo", ("name", c_char * 64), ("reason", c_char * 256), "i status is_off", "U calls failures",
                  "i end_status reserved", "U busy_ns longest_ns")
JsonOptions = _sized("JsonOptions", "s path", "U interval_ms flags")
CsvOptions = _sized("CsvOptions", "s path", "U flags")
JSON_FINAL_ONLY, JSON_LATE, CSV_WHOLE_RUN, SINK_REMOTE = 1, 2, 1, 1

# trace.h, emissions.h, prometheus.h, mlflow.h
TraceOptions = _sized("TraceOptions", "s path", "U interval_ms")
EmissionsOptions = _sized("EmissionsOptions", "s path", "U flags")
EMISSIONS_PROCESS = 1


class PrometheusLabel(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


PrometheusOptions = _sized("PrometheusOptions", "U flags", ("labels", POINTER(PrometheusLabel)), "z label_count",
                           "s directory", "U interval_ms")
PushgatewayOptions = _sized("PushgatewayOptions", "U flags", "s url job", ("labels", POINTER(PrometheusLabel)),
                            "z label_count", "U interval_ms timeout_ms", "s ca_path")
OpenmetricsOptions = _sized("OpenmetricsOptions", "s path")
PROMETHEUS_KEEP, PROMETHEUS_NO_NODE, PROMETHEUS_NO_JOB, PROMETHEUS_NO_PID, PUSHGATEWAY_INSECURE_TLS = 1, 2, 4, 8, 1
MlflowOptions = _sized("MlflowOptions", "U flags", "s tracking_uri experiment experiment_id run_id run_name user",
                       "s password token ca_path client_cert workspace spool", "I node_index",
                       "U batch_metrics interval_ms timeout_ms budget_ms")
MlflowReplayInfo = _sized("MlflowReplayInfo", "U requests sent refused", ("run_id", c_char * 260))
MLFLOW_SERIES, MLFLOW_NO_ARTIFACT, MLFLOW_NO_SPOOL, MLFLOW_FINISH, MLFLOW_INSECURE_TLS = 1, 2, 4, 8, 16

# monitor.h
MonitorOptions = _sized("MonitorOptions", "U interval_ms", "z max_rows", "U domains flags", "I pid", "U scope_meters",
                        "d max_overhead max_meter_share", "s name fs_root record",
                        "z max_tags max_scope_paths max_scope_threads max_scope_depth", "U stop_timeout_ms",
                        "z max_events", ("carbon", POINTER(CarbonOptions)), "U stacks stack_hz fault_period",
                        "s counters scope_counters")
DOMAINS = {"process": 1, "tree": 2, "cgroup": 4, "cpu": 8, "memory": 16, "psi": 32, "disk": 64, "net": 128,
           "node": 248, "energy": 256, "gpu": 512, "all": 1023}
METERS = {"wall": 1, "cpu": 2, "rss": 4, "io": 8, "perf": 16}
FLAG_SMAPS, FLAG_NO_SCOPES, FLAG_IDLE_NONE, FLAG_IDLE_ALLOCATED = 1, 2, 4, 8

# stack.h
STACKS = {"cpu": 1, "memory": 2, "peak": 4, "all": 7}
STACK_KINDS = {"cpu": 0, "memory": 1, "file": 2}
STACK_LOSSES = {"ring full": 0, "no room": 1, "too deep": 2, "not unwound": 3, "blocked": 4, "threads": 5}
STACKS_FOLDED, STACKS_SPEEDSCOPE, STACKS_PPROF = 1, 2, 3
RunStack = _sized("RunStack", "I scope", "U frames is_cut", ("samples", c_uint64 * 3), ("weight", c_double * 3))
RunFrame = _sized("RunFrame", "s function file module", "U line address is_inlined module_offset")
RunStackInfo = _sized("RunStackInfo", "i status reserved", "s reason", "U period samples", "d weight total", "U lost")
RunPeakStack = _sized("RunPeakStack", "I t_ns", "d rss_bytes headroom_bytes", "U thread_id", "s thread_name", "I scope",
                      "U frames is_cut")
StacksOptions = _sized("StacksOptions", "s path", "U interval_ms", "i format kind")

# doctor.h, baseline.h
DoctorOptions = _sized("DoctorOptions", "s fs_root group")
DoctorEntry = _sized("DoctorEntry", "i status", "s group name what remedy")
DOCTOR_STATES = {1: "ready", 2: "not readable", 3: "absent", 4: "garbled"}


class Compared(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("work", "idle", "difference", "low", "high")]


ComparisonOptions = _sized("ComparisonOptions", "d hours_per_day days_per_year")
Comparison = _sized("Comparison", *((name, Compared) for name in ("energy_j", "power_w", "gco2eq", "kgco2eq_year")),
                    "d seconds degrees_of_freedom modelled_share hours_per_day days_per_year g_per_kwh pue",
                    "U work_runs idle_runs work_stretches idle_stretches", "i provenance is_significant",
                    ("components", c_char * 32), ("place", c_char * 64), ("method", c_char * 160),
                    ("remark", c_char * 512), ("statement", c_char * 512))

# promql.h, job.h
PromqlOptions = _sized("PromqlOptions", "U flags", "s url token ca_path", "U timeout_ms")
PROMQL_INSECURE_TLS = 1
PodPeak = _sized("PodPeak", "d cpu_cores memory_bytes")
PodEnergy = _sized("PodEnergy", "d total_j core_j uncore_j package_j dram_j other_j gpu_j")
JobInfo = _sized("JobInfo", "s system launcher id step array_id name queue cluster node_name key remark",
                 "I array_index restarts node_index node_count rank rank_count local_rank local_rank_count")
