# SPDX-License-Identifier: MIT
"""cpu_metrics.json, perf_metrics.json and nv_gpu_metrics.json of ska-sdp-perfmon.

    {"host_names": ["n1", ...], "n1": {"time_stamps": [...], ...}, ..., "sampling_frequency": s}

A host has a list for each field, as long as its "time_stamps" (s since 1970; integers there, but its readers take any
number, and a run has more than one row in a second).  What is not measured is an empty list, and a gap is null:
CreateDataFrame makes NaN of both.  All hosts of a file have the same fields, else that reader moves their columns.
perf_metrics.json has the counts of each interval, whose time is that of its beginning, and rates made of them ("derv_...").
nv_gpu_metrics.json has a host for each GPU, "gpu-0.n1".  The last two are read, not written.
"""
import re

from ..errors import FormatError
from .converter import (COUNTER, COUNTS, GAUGE, RATE, SHARE, START_KEY, Field, Table, by_node, document_of, expect,
                        instances, number, numbers, row_times, shown, start_of, times_of, values_of)

_USER_TIME = "user time only, of the processes that were alive at each sample"
_UNDONE = "what perfmon had added to values of memory, I/O and InfiniBand is taken off"
_MOST_VALUES = 20 * 10**6  # bounds the memory for a small file, whose lists are padded to many rows


def _tree(name, metric, unit="B", kind=GAUGE, **more):
    """A field of the processes of a job; for a run of a single process, its values."""
    return Field(name, "tree." + metric, unit, kind, "tree", instead=("proc." + metric,), **more)


def _own(name, metric, unit, kind):
    """A field without a metric of a process tree: keeps the name of the file."""
    return Field(name, "perfmon." + name, unit, kind, "tree", instead=(metric,) if metric else ())


def _net(name, metric, unit):
    return Field(name, metric, unit, COUNTER, "node")


# Fields of each host.
FIELDS = (
    _tree("cpu_time", "cpu.time", "s", COUNTER, part="cpu_time", remark=_USER_TIME),
    _tree("cpu_percent", "cpu.percent", "%", SHARE),
    # psutil's first share covers no time
    Field("cpu_percent_sys", "node.cpu.percent", "%", SHARE, "node", is_first_void=True),
    _tree("memory_info.rss", "mem.rss"),
    _tree("memory_info.vms", "mem.vms"),
    _tree("memory_info.shared", "mem.shared"),
    _tree("memory_full_info.uss", "mem.uss"),
    _tree("memory_full_info.swap", "mem.swap"),
    _own("memory_percent", "proc.mem.host_percent", "%", GAUGE),
    _tree("io_counters.read_bytes", "io.read_bytes", "B", COUNTER),
    _tree("io_counters.write_bytes", "io.write_bytes", "B", COUNTER),
    _tree("io_counters.read_count", "io.read_count", "1", COUNTER),
    _tree("io_counters.write_count", "io.write_count", "1", COUNTER),
    _net("net_io_counters.bytes_sent", "node.net.all.sent", "B"),
    _net("net_io_counters.bytes_recv", "node.net.all.recv", "B"),
    _net("net_io_counters.packets_sent", "node.net.all.packets_sent", "1"),
    _net("net_io_counters.packets_recv", "node.net.all.packets_recv", "1"),
    _tree("num_threads", "threads", "1"),
    _tree("num_fds", "fds", "1"),
)

# A field of some hosts.
MEMORY_BW = _own("memory_bw", "", "B/s", GAUGE)

# Sums over all ports.
PORTS = (
    _net("ib_io_counters.port_xmit_data", "node.ib.sent", "B"),
    _net("ib_io_counters.port_rcv_data", "node.ib.recv", "B"),
    _net("ib_io_counters.port_xmit_packets", "node.ib.packets_sent", "1"),
    _net("ib_io_counters.port_rcv_packets", "node.ib.packets_recv", "1"),
)

_RAPL = "rapl_powercap"
_ENERGY = "energy.zone"


def _rapl(instance):
    """uJ; an instance is package-0, core-0, uncore-0, dram-0 ..."""
    return Field("%s.%s" % (_RAPL, instance), _ENERGY, "J", COUNTER, "device", instance, over=10**6)


# perfmon adds each of these fields to the sum of the previous fields (in get_cumulative_metric_value()).  The order is not
# in its files; this order is used if two sums are equal.
_SUMMED_UP = (
    ("memory_info.rss", "memory_info.vms", "memory_info.shared"),
    ("memory_full_info.uss", "memory_full_info.swap"),
    ("io_counters.read_count", "io_counters.write_count", "io_counters.read_bytes", "io_counters.write_bytes"),
)

# Of perf_metrics.json: a list for each event of a group.
_EVENTS = {"cycles": "cycles", "instructions": "instructions", "cache-misses": "cache.misses",
           "cache-references": "cache.references", "branches": "branches", "branch-misses": "branch.misses",
           "context-switches": "context_switches", "cpu-migrations": "migrations"}
_EVENT_GROUPS = ("hardware_events", "software_events", "L2", "L2cache", "L3", "L3cache", "FLOPS_SP", "FLOPS_DP")
_DERIVED = "derv"  # how the names of rates begin


def _event(group, name):
    full = "%s.%s" % (group, name)
    if name.startswith(_DERIVED):
        return Field(full, "perfmon." + full, "1", GAUGE, "tree")
    known = _EVENTS.get(name)
    return Field(full, "perf." + known if known else "perf.event", "1", COUNTS, "tree", "" if known else name)


def _gpu(name, metric, unit="%", kind=GAUGE, **more):
    return Field(name, "gpu." + metric, unit, kind, "device", **more)


# Of nv_gpu_metrics.json, in the units of NVML.
GPU_FIELDS = (
    _gpu("utilization_rates.gpu", "util"), _gpu("utilization_rates.memory", "mem_util"),
    _gpu("encoder_util", "enc"), _gpu("decoder_util", "dec"),
    _gpu("memory_used.gpu_memory", "mem.used", "B"), _gpu("memory_used.bar1_memory", "bar1.used", "B"),
    _gpu("clock_info.graphics", "clock.graphics", "Hz", scale=10**6), _gpu("clock_info.sm", "clock.sm", "Hz", scale=10**6),
    _gpu("clock_info.memory", "clock.mem", "Hz", scale=10**6),
    # "sp" and "dp" of perfmon are errors of one bit, which are corrected, and of two
    _gpu("ecc_errors.sp", "ecc.corrected", "1", COUNTER), _gpu("ecc_errors.dp", "ecc.uncorrected", "1", COUNTER),
    _gpu("power_usage", "power", "W", over=1000), _gpu("violation", "throttle.any", "s", COUNTER, over=10**9),
    _gpu("temperature", "temp", "C"), _gpu("fan_speed", "fan"), _gpu("num_procs", "processes", "1"),
    # KB/s over 20 ms
    _gpu("pci_thgpt.send", "pcie.sent", "B", RATE, scale=1000), _gpu("pci_thgpt.recv", "pcie.recv", "B", RATE, scale=1000),
)
_GPU_HOST = re.compile(r"gpu-([0-9]{1,4})\.(.+)", re.ASCII | re.DOTALL)

_HEAD = ("host_names", "sampling_frequency")


def is_shape(document):
    """Returns whether a document is a file of perfmon."""
    return isinstance(document, dict) and "host_names" in document and "format" not in document


# ---- reading -------------------------------------------------------------------------------


def _known_fields(host, where, gpu):
    if gpu is not None:
        return [field._replace(instance=gpu) for field in GPU_FIELDS]
    if any(group in host for group in _EVENT_GROUPS):
        return [_event(group, name) for group in _EVENT_GROUPS
                for name in expect(host.get(group, {}), dict, "%s: %s" % (where, group))]
    domains = expect(host.get(_RAPL, {}), dict, "%s: %s" % (where, _RAPL))
    for instance in domains:
        if not isinstance(instance, str) or not 0 < len(instance) < 40:
            raise FormatError("%s: %s has %s: expected a short name" % (where, _RAPL, shown(instance)))
    return (*FIELDS, MEMORY_BW, *PORTS, *map(_rapl, domains))


def _find(host, name, where):
    """Returns the list of a field; None if the file has no such field."""
    head, _, tail = name.partition(".")
    value = host.get(head)
    if tail and value is not None:
        value = expect(value, dict, "%s: %s" % (where, head)).get(tail)
    return None if value is None else expect(value, list, "%s: %s" % (where, name))


def _columns(host, rows, where, gpu=None):
    """Returns {field: values} of what the file has, cut or filled up as CreateDataFrame does."""
    found = {field: _find(host, field.name, where) for field in _known_fields(host, where, gpu)}
    lists = {field: values for field, values in found.items() if values is not None}
    if not lists:
        raise FormatError("%s has none of the fields of cpu_metrics.json, perf_metrics.json or nv_gpu_metrics.json" % where)
    if rows * len(lists) > _MOST_VALUES:
        raise FormatError("%s: %d rows of %d fields: expected %d values in all, at most"
                          % (where, rows, len(lists), _MOST_VALUES))
    columns = {}
    for field, values in lists.items():
        values = numbers(values[:rows], "%s: %s" % (where, field.name))
        if field.metric == _ENERGY and not any(values):
            values = []  # perfmon writes 0 if it may not read the counter
        columns[field] = values + [None] * (rows - len(values))
    return columns


def _is_summed_up(columns):
    """Returns whether the fields are certainly sums: shared memory cannot exceed resident memory."""
    pairs = zip(columns.get("memory_info.shared", ()), columns.get("memory_info.rss", ()))
    return any(shared is not None and rss is not None and shared > rss for shared, rss in pairs)


def _undo_sum(columns, names):
    """Subtracts the previous sums: sums of non-negative fields are in ascending order."""
    names = [name for name in names if any(value is not None for value in columns.get(name, ()))]
    rows = [row for row in zip(*(columns[name] for name in names)) if None not in row]
    order = sorted(range(len(names)), key=lambda i: rows[-1][i]) if rows else []
    pairs = list(zip(order, order[1:]))
    if not rows or any(row[a] > row[b] for row in rows for a, b in pairs):
        columns.update((name, [None] * len(columns[name])) for name in names)
        return
    sums = {name: columns[name] for name in names}
    for a, b in pairs:
        columns[names[b]] = [None if value is None or before is None else value - before
                             for value, before in zip(sums[names[b]], sums[names[a]])]


def _undo_sums(columns):
    for names in _SUMMED_UP:
        _undo_sum(columns, names)
    for field in PORTS:
        # It also takes packets for octets divided by 4.
        values = columns.get(field.name, [])
        if field.unit == "1" and all(value is None or value % 4 == 0 for value in values):
            columns[field.name] = [None if value is None else value // 4 for value in values]


def _times(host, where):
    return times_of(expect(host.get("time_stamps"), list, where + ": time_stamps"), where + ": time_stamps")


def _read_gpus(name, gpus, settings):
    """Returns the document of a host, of the lists of its GPUs: {instance: (where, host)}."""
    times_ns, columns = None, {}
    for gpu, (where, host) in gpus.items():
        times_ns = times_ns or _times(host, where)
        columns.update(_columns(host, len(times_ns), where, gpu))
    return document_of("perfmon", "read from a perfmon file", Table(times_ns, columns, host=name, settings=settings), where)


def _read_host(name, host, settings, where):
    times_ns = _times(host, where)
    columns = _columns(host, len(times_ns), where)
    if any(field.kind == COUNTS for field in columns):  # times are those of the beginning
        times_ns = [time + round(settings.get("interval_ms", 0) * 10**6) for time in times_ns]
    by_name = {field.name: values for field, values in columns.items()}
    is_summed_up = _is_summed_up(by_name)
    if is_summed_up:
        _undo_sums(by_name)
    table = Table(times_ns, {field: by_name[field.name] for field in columns}, host.get(START_KEY), host=name,
                  settings=settings, note=_UNDONE if is_summed_up else "")
    return document_of("perfmon", "read from a perfmon file", table, where)


def read(document):
    """Returns a run document for each host."""
    names = expect(document.get("host_names"), list, "perfmon: host_names")
    if not names:
        raise FormatError("perfmon: host_names is empty: expected one at least")
    settings = {}
    if "sampling_frequency" in document:
        settings["interval_ms"] = number(document["sampling_frequency"], "perfmon: sampling_frequency") * 1000
    runs, gpus = [], {}
    for i, name in enumerate(names):
        where = "perfmon: host %s" % shown(name)
        if not isinstance(name, str) or not name or name in _HEAD:
            raise FormatError("%s: expected a name" % where)
        if name in names[:i]:
            raise FormatError("perfmon: host_names has %s twice" % shown(name))
        host, gpu = expect(document.get(name), dict, where), _GPU_HOST.fullmatch(name)
        if gpu and "utilization_rates" in host:
            gpus.setdefault(gpu[2], {})[gpu[1]] = where, host
        else:
            runs.append(_read_host(name, host, settings, where))
    return runs + [_read_gpus(name, host, settings) for name, host in gpus.items()]


# ---- writing -------------------------------------------------------------------------------


def _sum_of_ports(run, field):
    ports = [values_of(run, field._replace(instance=port)) for port in instances(run, field.metric)]
    ports = [values for values in ports if values is not None]
    return [None if None in values else sum(values) for values in zip(*ports)]


def _memory_percent(run):
    """Returns the share of the machine's memory, which perfmon sums over processes as psutil reports it."""
    memory, rss = run.facts.get("machine", {}).get("memory_bytes"), values_of(run, _tree("memory_info.rss", "mem.rss"))
    if rss is None or not isinstance(memory, (int, float)) or memory < 1:
        return None
    return [None if value is None else 100.0 * value / memory for value in rss]


def _memory_bandwidth(run):
    """Returns what cores read from the memory of their own and of other sockets, as perfmon does; else what missed the L3."""
    local, remote, missed = (values_of(run, Field("memory_bw", f"perf.mem.{name}_bandwidth", "B/s", SHARE, "node"))
                             for name in ("local", "remote", "read"))
    if local is None or remote is None:
        return missed
    return [None if None in values else sum(values) for values in zip(local, remote)]


def _host_values(run):
    """Returns {name of a field: values} of what the run has."""
    fields = (*FIELDS, MEMORY_BW, *map(_rapl, instances(run, _ENERGY)))
    columns = {field.name: values_of(run, field) for field in fields}
    columns.update((field.name, _sum_of_ports(run, field)) for field in PORTS)
    if columns["memory_percent"] is None:
        columns["memory_percent"] = _memory_percent(run)
    if columns["memory_bw"] is None:
        columns["memory_bw"] = _memory_bandwidth(run)
    return {name: values for name, values in columns.items() if values}


def _names(runs):
    names = []
    for i, run in enumerate(runs):
        facts = run.facts
        name = facts.get("machine", {}).get("host_name") or facts.get("job", {}).get("node_name") or "host-%d" % i
        if not isinstance(name, str) or name in _HEAD:
            raise FormatError("run %d: host_name is %s" % (i, shown(name)))
        if name in names:
            raise FormatError("run %d is of the host %s, as another is: expected one run of each host" % (i, shown(name)))
        names.append(name)
    return names


def _put(host, name, values):
    head, _, tail = name.partition(".")
    if tail:
        host.setdefault(head, {})[tail] = values
    else:
        host[head] = values


def write(runs):
    """Returns the file of the runs: a host for each, and for each node of a merged run."""
    runs = [one for run in runs for one in by_node(run)]
    names, columns = _names(runs), [_host_values(run) for run in runs]
    for name, own in zip(names, columns):
        if not own:
            raise FormatError("the run of %s has no values that perfmon has" % name)
    fields = dict.fromkeys([field.name for field in FIELDS] + [name for own in columns for name in own])
    document = {"host_names": names}
    for name, run, own in zip(names, runs, columns):
        times_ns = row_times(run)
        host = document[name] = {"time_stamps": [t // 10**9 if t % 10**9 == 0 else t / 1e9 for t in times_ns]}
        for field in fields:
            _put(host, field, own.get(field, []))
        host.update(start_of(run, times_ns[0]))
    intervals = [(run.facts.get("settings", {}).get("interval_ms"), run.info.stride) for run in runs]
    seconds = [ms * stride / 1000 for ms, stride in intervals if isinstance(ms, (int, float)) and ms > 0]
    if seconds:
        longest = max(seconds)
        document["sampling_frequency"] = int(longest) if longest == int(longest) else longest
    return document
