# SPDX-License-Identifier: MIT
"""The ABI as another language sees it: options, scopes by name, snapshot and accessors by ctypes."""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("interval_ms", ctypes.c_uint64),
                ("max_rows", ctypes.c_size_t), ("domains", ctypes.c_uint64), ("flags", ctypes.c_uint64),
                ("pid", ctypes.c_int64), ("scope_meters", ctypes.c_uint64),
                ("max_overhead", ctypes.c_double), ("max_meter_share", ctypes.c_double),
                ("name", ctypes.c_char_p), ("fs_root", ctypes.c_char_p), ("record", ctypes.c_char_p),
                ("max_tags", ctypes.c_size_t), ("max_scope_paths", ctypes.c_size_t),
                ("max_scope_threads", ctypes.c_size_t), ("max_scope_depth", ctypes.c_size_t),
                ("stop_timeout_ms", ctypes.c_uint64), ("max_events", ctypes.c_size_t)]


class Statistics(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("n", ctypes.c_uint64), ("resets", ctypes.c_uint64)] + [
        (name, ctypes.c_double) for name in ("first", "last", "min", "max", "mean", "integral", "p50", "p95",
                                             "duration_s", "over20_s", "over40_s", "over80_s", "over100_s")]


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
options = Options(struct_size=ctypes.sizeof(Options), interval_ms=5, name=b"from python", scope_meters=7)
check(lib.resmon_monitor_new(ctypes.byref(options), ctypes.byref(monitor)))
check(lib.resmon_monitor_start(monitor))
check(lib.resmon_site_intern(b"cell", ctypes.byref(site)))
for _ in range(10):
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
statistics = Statistics(struct_size=ctypes.sizeof(Statistics))
check(lib.resmon_run_get_statistics(run, column, ctypes.byref(statistics)))
assert statistics.n >= 2 and statistics.max >= statistics.mean > 1e6
lib.resmon_run_free(run)
lib.resmon_monitor_free(monitor)
options.struct_size = 8
assert lib.resmon_monitor_new(ctypes.byref(options), ctypes.byref(monitor)) == -1
assert b"struct_size" in lib.resmon_last_error()
print("the ABI works through ctypes")
