# SPDX-License-Identifier: MIT
"""The structures of libresmon's C API as ctypes classes, in the order of include/resmon.

A test compiles the headers and compares every size, offset and constant with this file.
"""
import ctypes
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from ._records import STRUCTS, WORDS

VERSION = (0, 1)  # of the headers that these structures are from: major and minor

PROVENANCES, LEVELS, KINDS, ENDS = (WORDS[name] for name in ("PROVENANCE", "LEVEL", "KIND", "END"))
GAUGE, COUNTER = KINDS
BASES = {1: "given", 2: "cloud", 3: "region", 4: "country", 5: "world"}  # of carbon.h
VERDICTS = {0: "none", 1: "not worse", 2: "cannot tell", 3: "worse"}  # of compare.h
_TRUTH = {0: False, 1: True}

# One letter for each type of the interface, and for the meaning of a code.
_TYPES = {"U": c_uint64, "I": c_int64, "i": c_int32, "u": c_uint32, "d": c_double, "z": c_size_t, "s": c_char_p,
          "p": c_void_p, "t": c_int32, "v": c_int32, "k": c_int32, "l": c_int32, "b": c_int32, "w": c_int32}
_MEANINGS = {"t": _TRUTH, "v": PROVENANCES, "k": KINDS, "l": LEVELS, "b": BASES, "w": VERDICTS}


class _Sized(ctypes.Structure):
    """A structure that starts with its size; ``_meanings_`` maps the codes of each field to words."""

    _meanings_ = {}

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


def _sized(name, *groups):
    """Makes a structure `name` of fields given as "U interval_ms flags", or as (field, type)."""
    fields, meanings = [("struct_size", c_size_t)], {}
    for group in groups:
        if isinstance(group, tuple):
            fields.append(group)
        else:
            letter, *names = group.split()
            fields.extend((field, _TYPES[letter]) for field in names)
            meanings.update((field, _MEANINGS[letter]) for field in names if letter in _MEANINGS)
    return type(name, (_Sized,), {"_fields_": fields, "_meanings_": meanings, "__module__": __name__})


# status.h
LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)
LOG_WARNING, LOG_INFO, LOG_DEBUG = 1, 2, 3

# metric.h
Metric = _sized("Metric", "U id", "s name unit", "k kind", "l level", "s origin help")
VALUE_BYTES = 32
View = _sized("View", "s view group metric label unit share_of", "d divisor", "i series colour")

# carbon.h
CarbonOptions = _sized("CarbonOptions", "s country region cloud_provider cloud_region", "d g_per_kwh pue wue", "U flags")
CarbonIntensity = _sized("CarbonIntensity", "d g_per_kwh pue wue", "b basis", "i year", "s place iso3 country source")
CarbonCost = _sized("CarbonCost", "d it_kwh facility_kwh gco2eq water_l coal_kg natural_gas_kg petroleum_kg")
CARBON_CODECARBON, CARBON_NO_SITE, CARBON_ZERO = 1, 2, 4

# compare.h
BenchFunction = ctypes.CFUNCTYPE(c_int32, c_void_p)
BenchOptions = _sized("BenchOptions", "U runs calls warmup batch")
DiffRow = _sized("DiffRow", "s path figure title unit rule", "d before before_low before_high after after_low after_high",
                 "d shift shift_low shift_high p p_of_all allowance", "U before_runs after_runs runs_wanted",
                 "t is_counted", "w verdict")

# records.h

class Estimate(ctypes.Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


_MEMBERS = {"TEXT": c_char_p, "COUNT": c_uint64, "CALLS": c_uint64, "FLAG": c_uint64, "ADDRESS": c_uint64,
            "INTEGER": c_int64, "TIME": c_int64, "NUMBER": c_double, "NUMBERS4": c_double * 4, "NUMBERS3": c_double * 3,
            "COUNTS3": c_uint64 * 3, "ESTIMATE": Estimate, "ESTIMATES": POINTER(Estimate)}


def _record(name):
    """Makes a structure of the table of records; a member without a type here is a code."""
    gaps = iter(("reserved", "reserved2", "reserved3"))
    record = _sized(name, *((member or next(gaps), _MEMBERS.get(kind, c_int32)) for member, kind in STRUCTS[name]))
    record._meanings_ = {member: _TRUTH if kind == "FLAG" else WORDS[kind] for member, kind in STRUCTS[name]
                         if kind == "FLAG" or kind in WORDS}
    return record


RunInfo, RunFactEntry, RunTag, RunSource = map(_record, ("RunInfo", "RunFactEntry", "RunTag", "RunSource"))
RunScope, RunLine, RunCounter, RunEvent = map(_record, ("RunScope", "RunLine", "RunCounter", "RunEvent"))
Column, EnergyPart, Energy, RunEnd, RunUsage, RunProcess, Headline = map(
    _record, ("Column", "EnergyPart", "Energy", "RunEnd", "RunUsage", "RunProcess", "Headline"))
RunNode, RunRank, ScopeSpread = map(_record, ("RunNode", "RunRank", "ScopeSpread"))
RunStack, RunFrame, RunStackInfo, RunPeakStack = map(_record, ("RunStack", "RunFrame", "RunStackInfo", "RunPeakStack"))
Energy._meanings_["basis"] = BASES
SERIES = {"last": 0, "min": 1, "max": 2, "mean": 3, "value": 4}

# scope.h, watch.h

INSIDE = 1

class Site(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("file", c_char_p), ("function", c_char_p), ("line", c_uint32), ("id", c_uint32)]


class Timed(ctypes.Structure):
    _fields_ = [("site", c_void_p), ("scope", c_uint64), ("meter", c_uint64), ("start_ns", c_int64),
                ("watch", c_uint64)]


Watched = _sized("Watched", "d wall_ns cpu_ns rss_bytes rss_peak_bytes io_read_bytes io_write_bytes io_read_chars",
                 "d io_write_chars", "v rss_provenance", "i reserved", "d tree_cpu_ns")

# sink.h
OnRun = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p)
OnTag = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int64, c_char_p)
OnFlush = ctypes.CFUNCTYPE(c_int32, c_void_p)
OnClose = ctypes.CFUNCTYPE(None, c_void_p)
Rows = _sized("Rows", "p run", "z row_count column_count", ("t_ns", POINTER(c_int64)), ("values", POINTER(c_double)),
              "U dropped_rows")
OnRows = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Rows))
SinkOps = _sized("SinkOps", "s name", ("start", OnRun), ("rows", OnRows), ("tag", OnTag), ("stop", OnRun),
                 ("flush", OnFlush), ("close", OnClose), ("snapshot", OnRun), "U snapshot_interval_ms flags parts")
SinkInfo = _sized("SinkInfo", ("name", c_char * 64), ("reason", c_char * 256), "i status", "t is_off", "U calls failures",
                  "i end_status reserved", "U busy_ns longest_ns")
SINK_REMOTE = 1

# emissions.h, mlflow.h
EmissionsOptions = _sized("EmissionsOptions", "s path", "U flags")
EMISSIONS_PROCESS = 1

MlflowReplayInfo = _sized("MlflowReplayInfo", "U requests sent refused", ("run_id", c_char * 260))

# monitor.h
METER_WALL, METER_RSS = 1, 4

# option.h
Option = _sized("Option", "s owner key type unit help", "t is_needed is_main has_bare", "i reserved", ("low", c_char * 32),
                ("high", c_char * 32), ("default_text", c_char * 96), ("values", c_char * 160))
SinkKind = _sized("SinkKind", "s name main help", "U stacks events parts", "s files")

# stack.h
STACK_KINDS = {"cpu": 0, "memory": 1, "file": 2}
STACK_LOSSES = {
    "ring full": 0,
    "no room": 1,
    "too deep": 2,
    "not unwound": 3,
    "blocked": 4,
    "threads": 5,
    "modules": 6,
}

# report.h
ReportOptions = _sized("ReportOptions", "U detail width")
PageOptions = _sized("PageOptions", "s title", "U form parts")
TableOptions = _sized("TableOptions", "U form width", "s match")
REPORT_FULL, REPORT_WIDTH, REPORT_LEAST_WIDTH = 1, 100, 60

# doctor.h, baseline.h
DoctorOptions = _sized("DoctorOptions", "s fs_root group")
DoctorEntry = _sized("DoctorEntry", "i status", "s group name what remedy")
DOCTOR_STATES = {1: "ready", 2: "not readable", 3: "absent", 4: "garbled"}


class Compared(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("work", "idle", "difference", "low", "high")]


ComparisonOptions = _sized("ComparisonOptions", "d hours_per_day days_per_year")
Comparison = _sized("Comparison", *((name, Compared) for name in ("energy_j", "power_w", "gco2eq", "kgco2eq_year")),
                    "d seconds degrees_of_freedom modelled_share hours_per_day days_per_year g_per_kwh pue",
                    "U work_runs idle_runs work_stretches idle_stretches", "v provenance", "t is_significant",
                    ("components", c_char * 32), ("place", c_char * 64), ("method", c_char * 160),
                    ("remark", c_char * 512), ("statement", c_char * 512))

# promql.h, job.h
PromqlOptions = _sized("PromqlOptions", "U flags", "s url token ca_path", "U timeout_ms")
PROMQL_INSECURE_TLS = 1
PodPeak = _sized("PodPeak", "d cpu_cores memory_bytes")
PodEnergy = _sized("PodEnergy", "d total_j core_j uncore_j package_j dram_j other_j gpu_j mean_w")
JobInfo = _sized("JobInfo", "s system launcher id step array_id name queue cluster user node_name key remark",
                 "I array_index restarts node_index node_count rank rank_count local_rank local_rank_count "
                 "node_cpus node_memory_bytes time_limit_s")
