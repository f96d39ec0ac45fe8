# SPDX-License-Identifier: MIT
"""What psutil takes for the same figures: prints nanoseconds, or why it cannot.  Argument: sample, or
tree PID."""
import sys
import time

try:
    import psutil
except ImportError:
    print(f"psutil is not installed for {sys.executable} (RESMON_PYTHON chooses another)")
    sys.exit(77)


def sample(process):
    with process.oneshot():
        process.cpu_times(), process.memory_info(), process.num_threads(), process.num_ctx_switches()
        process.io_counters(), process.num_fds()
    psutil.cpu_times(), psutil.cpu_percent(percpu=True), psutil.cpu_stats(), psutil.getloadavg()
    psutil.virtual_memory(), psutil.swap_memory(), psutil.disk_io_counters(perdisk=False)
    psutil.disk_usage("/"), psutil.net_io_counters(pernic=True)


def tree(process):
    for member in [process, *process.children(recursive=True)]:
        with member.oneshot():
            member.cpu_times(), member.memory_info(), member.num_threads(), member.io_counters()
            member.num_fds()


process = psutil.Process(int(sys.argv[2])) if len(sys.argv) > 2 else psutil.Process()
work = {"sample": sample, "tree": tree}[sys.argv[1]]
times = []
for _ in range(30):
    start = time.perf_counter_ns()
    work(process)
    times.append(time.perf_counter_ns() - start)
print(f"{sorted(times)[len(times) // 2]} psutil {psutil.__version__}")
