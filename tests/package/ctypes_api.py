# SPDX-License-Identifier: MIT
"""The ABI as another language sees it: options, scopes by name, snapshot and accessors by ctypes."""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

lib = ctypes.CDLL(sys.argv[1])


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("interval_ms", ctypes.c_uint64),
                ("rows", ctypes.c_size_t), ("domains", ctypes.c_uint64), ("flags", ctypes.c_uint64),
                ("pid", ctypes.c_int64), ("scopes", ctypes.c_uint64),
                ("max_overhead", ctypes.c_double), ("max_meter_share", ctypes.c_double),
                ("name", ctypes.c_char_p), ("fs_root", ctypes.c_char_p), ("record", ctypes.c_char_p),
                ("tags", ctypes.c_size_t), ("scope_paths", ctypes.c_size_t),
                ("scope_threads", ctypes.c_size_t), ("scope_depth", ctypes.c_size_t),
                ("stop_timeout_ms", ctypes.c_uint64), ("events", ctypes.c_size_t),
                ("carbon", ctypes.c_void_p), ("stacks", ctypes.c_uint64), ("stack_hz", ctypes.c_uint64),
                ("fault_period", ctypes.c_uint64), ("counters", ctypes.c_char_p),
                ("scope_counters", ctypes.c_char_p), ("command", ctypes.c_char_p), ("cgroup", ctypes.c_char_p),
                ("job", ctypes.c_char_p), ("labels", ctypes.c_void_p), ("label_count", ctypes.c_size_t)]


class Column(ctypes.Structure):
    _fields_ = ([("struct_size", ctypes.c_size_t)]
                + [(name, ctypes.c_char_p) for name in ("metric", "instance", "unit", "source")]
                + [("n", ctypes.c_uint64)]
                + [(name, ctypes.c_double) for name in ("first", "last", "min", "max", "mean", "integral", "p50", "p95",
                                                        "duration_s")]
                + [("resets", ctypes.c_uint64), ("over_s", ctypes.c_double * 4), ("kind", ctypes.c_int32),
                   ("level", ctypes.c_int32)])


Compared = ctypes.c_double * 5  # work, idle, difference, low, high


class Comparison(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t)] + [
        (name, Compared) for name in ("energy_j", "power_w", "gco2eq", "kgco2eq_year")] + [
        (name, ctypes.c_double) for name in ("seconds", "degrees_of_freedom", "modelled_share", "hours_per_day",
                                             "days_per_year", "g_per_kwh", "pue")] + [
        (name, ctypes.c_uint64) for name in ("work_runs", "idle_runs", "work_stretches", "idle_stretches")] + [
        ("provenance", ctypes.c_int32), ("is_significant", ctypes.c_int32)] + [
        (name, ctypes.c_char * size) for name, size in (("components", 32), ("place", 64), ("method", 160),
                                                        ("remark", 512), ("statement", 512))]


STATUS, POINTER, INT64 = ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64
OnRun = ctypes.CFUNCTYPE(STATUS, POINTER, POINTER)
OnTag = ctypes.CFUNCTYPE(STATUS, POINTER, INT64, ctypes.c_char_p)


class Rows(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("run", POINTER), ("row_count", ctypes.c_size_t),
                ("column_count", ctypes.c_size_t), ("t_ns", ctypes.POINTER(INT64)),
                ("values", ctypes.POINTER(ctypes.c_double)), ("dropped_rows", ctypes.c_uint64)]


OnRows = ctypes.CFUNCTYPE(STATUS, POINTER, ctypes.POINTER(Rows))


class SinkOps(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("start", OnRun), ("rows", OnRows),
                ("tag", OnTag), ("stop", OnRun), ("flush", ctypes.CFUNCTYPE(STATUS, POINTER)),
                ("close", ctypes.CFUNCTYPE(None, POINTER)), ("snapshot", OnRun),
                ("snapshot_interval_ms", ctypes.c_uint64), ("flags", ctypes.c_uint64),
                ("parts", ctypes.c_uint64)]


class DoctorEntry(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("status", ctypes.c_int32)] + [
        (name, ctypes.c_char_p) for name in ("group", "name", "what", "remedy")]


class ArrowStream(ctypes.Structure):
    _fields_ = [(name, ctypes.CFUNCTYPE(ctypes.c_int, POINTER, POINTER)) for name in ("get_schema", "get_next")] + [
        ("get_last_error", POINTER), ("release", ctypes.CFUNCTYPE(None, POINTER)), ("private_data", POINTER)]


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [(name, INT64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")] + [
    ("buffers", ctypes.POINTER(POINTER)), ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", POINTER), ("release", ctypes.CFUNCTYPE(None, POINTER)), ("private_data", POINTER)]

lib.resmon_last_error.restype = ctypes.c_char_p
lib.resmon_scope_begin.restype = ctypes.c_uint64
lib.resmon_scope_begin.argtypes = [ctypes.c_void_p]
lib.resmon_scope_end.argtypes = [ctypes.c_uint64]
lib.resmon_run_scope_count.restype = ctypes.c_size_t
lib.resmon_run_scope_count.argtypes = [ctypes.c_void_p]


def check(status):
    if status != 0:
        raise SystemExit(f"{status}: {lib.resmon_last_error().decode()}")


monitor, run, site = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
options = Options(struct_size=ctypes.sizeof(Options), interval_ms=5, name=b"from python", scopes=7)
check(lib.resmon_monitor_new(ctypes.byref(options), ctypes.byref(monitor)))
seen = {"start": 0, "rows": 0, "tags": [], "rss": 0.0, "stop": 0, "snapshots": 0}
rss = ctypes.c_size_t()


def on_start(_, columns):
    seen["start"] += 1
    return lib.resmon_run_find_column(ctypes.c_void_p(columns), b"proc.mem.rss", None, ctypes.byref(rss))


def on_rows(_, rows):
    seen["rows"] += rows[0].row_count
    seen["rss"] = max(seen["rss"], rows[0].values[rss.value])
    return 0


def on_tag(_, t_ns, label):
    seen["tags"].append(label.decode())
    return 0 if t_ns > 0 else -1


def count(what):
    def on_run(_, finished):
        seen[what] += 1
        return 0 if finished else -1
    return on_run


sink = SinkOps(struct_size=ctypes.sizeof(SinkOps), name=b"python", start=OnRun(on_start), rows=OnRows(on_rows),
               tag=OnTag(on_tag), stop=OnRun(count("stop")), snapshot=OnRun(count("snapshots")),
               snapshot_interval_ms=1)
check(lib.resmon_monitor_add_sink(monitor, ctypes.byref(sink), None))
check(lib.resmon_monitor_start(monitor))
check(lib.resmon_site_intern(b"cell", ctypes.byref(site)))
begin = time.monotonic()
while seen["snapshots"] == 0 and time.monotonic() < begin + 30:
    scope = lib.resmon_scope_begin(site)
    assert scope != 0
    ballast = bytearray(8 << 20)
    lib.resmon_scope_end(scope)
check(lib.resmon_monitor_tag(monitor, "épsilon".encode()))
check(lib.resmon_monitor_stop(monitor))
check(lib.resmon_monitor_snapshot(monitor, ctypes.byref(run)))
assert lib.resmon_run_scope_count(run) == 1
column = ctypes.c_size_t()
check(lib.resmon_run_find_column(run, b"proc.mem.rss", None, ctypes.byref(column)))
statistics = Column(struct_size=ctypes.sizeof(Column))
check(lib.resmon_run_get_column(run, column, ctypes.byref(statistics)))
assert statistics.n >= 2 and statistics.max >= statistics.mean > 1e6
assert seen["start"] == seen["stop"] == 1 and seen["tags"] == ["épsilon"], seen
assert seen["rows"] >= statistics.n and seen["rss"] == statistics.max, (seen, statistics.n, statistics.max)
assert seen["snapshots"] > 0
stream, array = ArrowStream(), ArrowArray()
lib.resmon_run_series.restype = POINTER
address = lib.resmon_run_series(run, column, 4)
check(lib.resmon_run_export_arrow(run, 4, ctypes.byref(stream)))
text, again = POINTER(), POINTER()
check(lib.resmon_run_document(run, ctypes.byref(text)))
document = ctypes.string_at(text)
lib.resmon_text_free(text)
if lib.resmon_run_parse(document, ctypes.c_size_t(len(document)), ctypes.byref(again)) == 0:
    assert lib.resmon_run_scope_count(again) == 1
    lib.resmon_run_free(again)
else:
    assert b"RESMON_WITH_CJSON" in lib.resmon_last_error(), lib.resmon_last_error()
lib.resmon_run_free(run)
check(stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
stream.release(ctypes.byref(stream))
values = array.children[3 + column.value].contents
assert values.length == array.length >= 2 and values.buffers[1] == address, (values.length, values.buffers[1], address)
assert max(ctypes.cast(address, ctypes.POINTER(ctypes.c_double))[:values.length]) <= statistics.max
array.release(ctypes.byref(array))
lib.resmon_monitor_free(monitor)
doctor, entry = ctypes.c_void_p(), DoctorEntry(struct_size=ctypes.sizeof(DoctorEntry))
lib.resmon_doctor_entry_count.restype = ctypes.c_size_t
check(lib.resmon_doctor_examine(None, ctypes.byref(doctor)))
for index in range(lib.resmon_doctor_entry_count(doctor)):
    check(lib.resmon_doctor_get_entry(doctor, ctypes.c_size_t(index), ctypes.byref(entry)))
    assert 1 <= entry.status <= 4 and entry.group and entry.name and entry.what, entry.name
lib.resmon_doctor_free(doctor)

idle, work, comparison = POINTER(), POINTER(), Comparison(struct_size=ctypes.sizeof(Comparison))
check(lib.resmon_measure_idle(ctypes.c_double(0.12), None, ctypes.byref(idle)))
check(lib.resmon_measure_idle(ctypes.c_double(0.12), None, ctypes.byref(work)))
check(lib.resmon_compare_runs(ctypes.byref(work), ctypes.c_size_t(1), ctypes.byref(idle), ctypes.c_size_t(1), None,
                              ctypes.byref(comparison)))
assert comparison.work_runs == 1 and 0.12 <= comparison.seconds < 60, comparison.seconds
assert comparison.energy_j[0] >= 0 and comparison.energy_j[3] != comparison.energy_j[3]
assert comparison.statement.startswith(b"No interval can be given: "), comparison.statement
lib.resmon_run_free(idle)
lib.resmon_run_free(work)
options.struct_size = 8
assert lib.resmon_monitor_new(ctypes.byref(options), ctypes.byref(monitor)) == -1
assert b"struct_size" in lib.resmon_last_error()

# Whoever loads the library is in dlopen() while RESMON starts its monitor, and so is no other thread: GPUs are there.
if len(sys.argv) > 2:
    environment = {**os.environ, "RESMON": "csv=loaded.csv", "RESMON_NVML": sys.argv[2]}
    code = f"import ctypes; ctypes.CDLL({sys.argv[1]!r})"
    with tempfile.TemporaryDirectory() as room:
        subprocess.run([sys.executable, "-c", code], cwd=room, env=environment, check=True)
        with open(os.path.join(room, "loaded.csv"), encoding="ascii") as file:
            names = file.readline()
        assert "gpu.util[0]" in names, names
print("the ABI works through ctypes")
