#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a run back from an MLflow server, with mlflow's own client, and compares it with the document that
libresmon wrote of the same run.

read_back.py --document run.json (--run ID | --experiment NAME --tag KEY=VALUE) [--node 0] and see --help

The server is that of MLFLOW_TRACKING_URI or --uri.  Prints every difference; status 1 when there is one.
The names that the library gives things on the server are the tables below; the rest does not know them.
"""
import argparse
import datetime
import itertools
import json
import math
import pathlib
import re
import sys
import tempfile

# Where a key of the node's summary is on the server, at step = index of the node.
SUMMARY_KEY = "system/{key}"
# Series of a node: the part of the key after this, and the column it comes from.
SERIES_KEY = "system/node_{node}/{name}"
SCOPE_KEY = "system/resmon/scope/{path}/{name}"
RUN_KEY = "system/resmon/run/{name}"
ENERGY_KEY = "system/resmon/{name}"
OF_SERIES = r"system/node_\d+/"

MB = 1e6


def percent_of_memory(document):
    return document.words["machine"]["memory_bytes"] / 100


# name of the series: (metric, instance or None for the first, which number of a row, divisor)
SERIES = {
    "cpu_utilization_percentage": ("node.cpu.percent", "", "mean", 1),
    "system_memory_usage_percentage": ("node.mem.percent", "", "mean", 1),
    "system_memory_usage_megabytes": ("node.mem.used", "", "mean", MB),
    "disk_usage_percentage": ("node.fs.percent", None, "mean", 1),
    "disk_usage_megabytes": ("node.fs.used", None, "mean", MB),
    "disk_available_megabytes": ("node.fs.free", None, "mean", MB),
    "network_receive_megabytes": ("node.net.all.recv", "", "last", MB),
    "network_transmit_megabytes": ("node.net.all.sent", "", "last", MB),
    "process_cpu_percentage": ("tree.cpu.percent", "", "mean", 1),
    "process_memory_rss_megabytes": ("tree.mem.rss", "", "mean", MB),
    "process_memory_vms_megabytes": ("tree.mem.vms", "", "mean", MB),
    "process_memory_percentage": ("tree.mem.rss", "", "mean", percent_of_memory),
    "process_threads": ("tree.threads", "", "mean", 1),
    "process_open_files": ("tree.fds", "", "mean", 1),
    "process_read_megabytes": ("tree.io.read_bytes", "", "last", MB),
    "process_write_megabytes": ("tree.io.write_bytes", "", "last", MB),
    "disk_read_megabytes": ("node.disk.read_bytes", "", "last", MB),
    "disk_write_megabytes": ("node.disk.write_bytes", "", "last", MB),
    "cgroup_memory_usage_megabytes": ("cg.mem.current", "", "mean", MB),
    "cpu_energy_joules": ("node.energy.cpu", "", "last", 1),
    "memory_energy_joules": ("node.energy.ram", "", "last", 1),
    "gpu_energy_joules": ("node.energy.gpu", "", "last", 1),
}

def is_vague(value, low, high):
    """Whether an estimate may be off by more than itself."""
    return None in (value, low, high) or not high - low <= value


def estimate(scope, name, divisor):
    """What may be off by more than itself is not sent; without ends it is exact."""
    value = scope.get(name)
    if is_vague(value, scope.get(name + "_low", value), scope.get(name + "_high", value)):
        return None
    return over(value, divisor)


# name of the figure of a scope: its value, None when it has none
SCOPES = {
    "wall_seconds": lambda scope: scope["wall_ns"] / 1e9,
    "calls": lambda scope: scope["calls"],
    "cpu_seconds": lambda scope: estimate(scope, "pcpu_ns", 1e9),
    "thread_cpu_seconds": lambda scope: estimate(scope, "cpu_ns", 1e9),
    "rss_peak_megabytes": lambda scope: over(scope.get("rss_peak_bytes"), MB),
    "read_megabytes": lambda scope: estimate(scope, "io_read_bytes", MB),
    "write_megabytes": lambda scope: estimate(scope, "io_write_bytes", MB),
    "energy_joules": lambda scope: scope.get("energy_joules"),
}

# Of the name of a counter of scopes, the longest part that is in a key.
LONGEST_COUNTER = 63

# name of the figure of the run: what was counted until its end, and the divisor
RUN = {
    "cpu_seconds": ("tree.cpu.time", 1),
    "rss_peak_megabytes": ("proc.mem.peak_rss", MB),
    "read_megabytes": ("tree.io.read_bytes", MB),
    "write_megabytes": ("tree.io.write_bytes", MB),
}

# name of the parameter, or tag of a node: where it is in the document
PARAMETERS = {
    "resmon.version": ("run", "library"),
    "resmon.interval_ms": ("settings", "interval_ms"),
    "resmon.scopes": ("settings", "scopes"),
    "resmon.job.system": ("job", "system"),
    "resmon.job.id": ("job", "id"),
    "resmon.job.nodes": ("job", "node_count"),
    "resmon.job.ranks": ("job", "rank_count"),
    "resmon.g_per_kwh": ("energy", "g_per_kwh"),
    "resmon.pue": ("energy", "pue"),
    "resmon.place": ("energy", "place"),
}
NODE_TAGS = ("cpu_model", "cpus", "memory_bytes", "kernel", "os")

CORE_AVG, CORE_MIN, CORE_MAX = "node.cpu.core.avg", "node.cpu.core.min", "node.cpu.core.max"


# ---- what the document says --------------------------------------------------------------------------


class Document:
    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        self.words = json.loads(self.bytes)
        start = self.words["run"]["start"]
        whole, _, fraction = start.rstrip("Z").partition(".")
        moment = datetime.datetime.fromisoformat(whole).replace(tzinfo=datetime.timezone.utc)
        self.start_ns = int(moment.timestamp()) * 10**9 + int(fraction.ljust(9, "0"))
        self.duration_ns = self.words["run"]["duration_ns"]

    def column(self, metric, instance=None):
        """Its index, or None; without an instance the first of the metric."""
        for index, column in enumerate(self.words["columns"]):
            if column["metric"] == metric and instance in (None, column["instance"]):
                return index
        return None

    def statistics(self, metric, instance=None):
        index = self.column(metric, instance)
        found = self.words["summary"]["columns"][index] if index is not None else {"n": 0}
        return found if found["n"] > 0 else None

    def scopes(self):
        """(path, scope) of every scope, depth first; a slash in a name is no step."""
        def walk(scopes, prefix):
            for scope in scopes:
                name = scope["name"].replace("/", "_") or "_"
                path = f"{prefix}/{name}" if prefix else name
                yield path, scope
                yield from walk(scope["children"], path)
        return list(walk(self.words["scopes"], ""))


def over(number, divisor):
    return number / divisor if number is not None else None


def statistic(name):
    return lambda document, found: found[name]


def share_over(index):
    """Per cent of the time at or over the index-th limit (20, 40, 80, 100)."""
    return lambda document, found: 100.0 * found["over_s"][index] / found["duration_s"] \
        if found["duration_s"] > 0 else None


def grown_mib(document, found):
    return found["last"] / 2**20


def cpu_hours(document, found):
    return found["mean"] * document.duration_ns / 1e9 / 3600


def unused_cpu_hours(document, found):
    busy = document.statistics(CORE_AVG)
    return cpu_hours(document, found) * (100.0 - busy["mean"]) / 100.0 if busy else None


NODE_FIGURES = {
    "cpu_avg_utilization_pct": (CORE_AVG, statistic("mean")),
    "cpu_avg_utilization_over20_pct": (CORE_AVG, share_over(0)),
    "cpu_avg_utilization_over40_pct": (CORE_AVG, share_over(1)),
    "cpu_avg_utilization_over80_pct": (CORE_AVG, share_over(2)),
    "cpu_avg_utilization_at100_pct": (CORE_AVG, share_over(3)),
    "max_t_cpu_pct_per_cpu_avg": (CORE_AVG, statistic("max")),
    "max_t_cpu_pct_per_cpu_min": (CORE_MIN, statistic("max")),
    "max_t_cpu_pct_per_cpu_max": (CORE_MAX, statistic("max")),
    "node_cpu_hours": ("node.cpu.online", cpu_hours),
    "node_unused_cpu_hours": ("node.cpu.online", unused_cpu_hours),
    "max_t_mem_percent": ("node.mem.percent", statistic("max")),
    "max_t_disk_usage_percent": ("node.fs.percent", statistic("max")),
    "total_disk_io_read_mb": ("node.disk.read_bytes", grown_mib),
    "total_disk_io_write_mb": ("node.disk.write_bytes", grown_mib),
    "total_net_io_lo_sent_mb": ("node.net.lo.sent", grown_mib),
    "total_net_io_ext_sent_mb": ("node.net.ext.sent", grown_mib),
    "total_net_io_lo_recv_mb": ("node.net.lo.recv", grown_mib),
    "total_net_io_ext_recv_mb": ("node.net.ext.recv", grown_mib),
}


def node_figures(document):
    """key -> value, None where it is not known; from the statistics, not from what the library made of them."""
    found = {}
    for key, (metric, figure) in NODE_FIGURES.items():
        statistics = document.statistics(metric)
        found[key] = figure(document, statistics) if statistics else None
    return found


def series_of(document, metric, instance, number, divisor):
    """[(step, timestamp in ms, value)] of the rows that have one, or None without such a column.  The step
    of a row is the number of its last sample."""
    index = document.column(metric, instance)
    if index is None:
        return None
    series = document.words["series"]
    divisor = divisor(document) if callable(divisor) else divisor
    steps = itertools.accumulate(series["samples"], initial=-1)
    next(steps)
    rows = zip(steps, series["t_last_ns"], series["columns"][index][number])
    return [(step, (document.start_ns + t_ns) // 10**6, value / divisor)
            for step, t_ns, value in rows if value is not None]


def run_figures(document):
    """name -> value, None where it is not known."""
    found = {"wall_seconds": document.duration_ns / 1e9}
    for name, (metric, divisor) in RUN.items():
        statistics = document.statistics(metric)
        found[name] = over(statistics["last"], divisor) if statistics else None
    return found


def energy_figures(document):
    """key -> value, None where it is not known: sums over the parts, and what they cost."""
    energy = document.words.get("energy")
    if energy is None:
        return {}
    node, program = (energy[who]["joules"] for who in ("node", "tree"))
    modelled = [part["node_joules"] for part in energy["parts"] if part["provenance"] == "modelled"]
    grams_per_joule = energy["pue"] * energy["g_per_kwh"] / 3.6e6
    found = {"energy/node_joules": node, "energy/tree_joules": program,
             "energy/modelled_share": sum(j or 0 for j in modelled) / node if node else None,
             "carbon/node_gco2eq": None if node is None else node * grams_per_joule,
             "carbon/tree_gco2eq": None if program is None else program * grams_per_joule}
    return {ENERGY_KEY.format(name=name): value for name, value in found.items()}


def counter_names(document):
    """What each counter of scopes is called on the server, None of one that there was not; in their order.
    No name is that of another figure: the second gets a number."""
    names = []
    for counter in document.words["counters"]:
        unit = "_seconds" if counter["unit"] == "s" else ""
        plain = name = sanitised(re.sub("[-/]", "_", counter["name"][:LONGEST_COUNTER - len(unit)] + unit))
        for number in itertools.count(2):
            if name not in SCOPES and name not in names:
                break
            name = f"{plain}_{number}"
        names.append(name if counter["status"] == "RESMON_OK" else None)
    return names


def counts_of(scope, names):
    """(name, value) of what the scope counted: as the document has it, of all instances, estimated where it was
    not all of the time that was counted; None where nothing was, or where that may be off by more than itself."""
    nothing = itertools.repeat(None)
    counts = scope.get("counters") or list(itertools.islice(nothing, len(names)))
    lows, highs = (scope.get("counters" + end, counts) for end in ("_low", "_high"))
    return [(name, None if is_vague(count, low, high) else count)
            for name, count, low, high in zip(names, counts, lows, highs) if name is not None]


def scope_figures(document):
    """(path and name, value) of every figure; a path that is there already gets a number."""
    paths, counters = set(), counter_names(document)
    for path, scope in document.scopes():
        plain = path = sanitised(path)
        for number in itertools.count(2):
            if path not in paths:
                break
            path = f"{plain}_{number}"
        paths.add(path)
        for name, figure in SCOPES.items():
            yield SCOPE_KEY.format(path=path, name=name), figure(scope)
        for name, count in counts_of(scope, counters):
            yield SCOPE_KEY.format(path=path, name=name), count


def artifact_of(node):
    return f"resmon/node_{node}.json" if node else "resmon/run.json"


def text_of(value):
    """As a parameter or a tag; None: there is none."""
    text = repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
    return None if value is None or value == "" else text[:511]


def parameters_of(document):
    found = {key: text_of((document.words.get(group) or {}).get(name)) for key, (group, name) in PARAMETERS.items()}
    return {key: value for key, value in found.items() if value is not None}


def tags_of(document, node):
    machine, job = document.words["machine"], document.words["job"] or {}
    found = {f"resmon.node.{node}.{name}": text_of(machine.get(name)) for name in NODE_TAGS}
    found[f"resmon.node.{node}"] = job.get("node_name") or machine["host_name"]
    return {key: value for key, value in found.items() if value is not None}


def sanitised(path):
    """As MLflow takes a key: bytes that it refuses become _, and empty parts go."""
    words = re.sub(rb"[^A-Za-z0-9_.\- /:]", b"_", path.encode()).decode()
    return "/".join(part for part in words.split("/") if part not in ("", ".", ".."))[:199]


# ---- what the server says ----------------------------------------------------------------------------


class Logged:
    """A run on the server; histories are fetched once."""

    def __init__(self, client, run_id):
        self.client = client
        self.run = client.get_run(run_id)
        self.histories = {}

    def keys(self, prefix=""):
        return sorted(key for key in self.run.data.metrics if key.startswith(prefix))

    def history(self, key):
        """[(step, timestamp, value)], by step."""
        if key not in self.histories:
            run = self.run.info.run_id
            points = self.client.get_metric_history(run, key) if key in self.run.data.metrics else []
            self.histories[key] = sorted((p.step, p.timestamp, p.value) for p in points)
        return self.histories[key]

    def artifact(self, path):
        with tempfile.TemporaryDirectory() as directory:
            return pathlib.Path(self.client.download_artifacts(self.run.info.run_id, path, directory)).read_bytes()


def find_run(client, experiment, tag):
    """The id of the one run that has the tag; an error when there are more or none."""
    found = client.get_experiment_by_name(experiment)
    if found is None:
        raise LookupError(f"there is no experiment {experiment}")
    key, _, value = tag.partition("=")
    runs = client.search_runs([found.experiment_id], f"tags.`{key}` = '{value}'")
    if len(runs) != 1:
        raise LookupError(f"{len(runs)} runs of {experiment} have the tag {tag}; one is wanted")
    return runs[0].info.run_id


# ---- the comparisons: each gives the list of its complaints ------------------------------------------


def same(one, other, tolerance=1e-12):
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=0)


def check_number(what, wanted, found):
    return [] if same(wanted, found) else [f"{what}: {found!r} is logged, {wanted!r} is right"]


def check_node_figures(logged, document, node):
    problems = []
    for key, wanted in node_figures(document).items():
        problems += check_points(logged, node, [(SUMMARY_KEY.format(key=key), wanted)])
        shown = document.words["summary"]["node"][key]
        if (shown is None) != (wanted is None) or (shown is not None and not same(wanted, shown)):
            problems.append(f"{key}: the document says {shown!r}, its statistics {wanted!r}")
    return problems


def check_steps(key, points, document, slack_ms):
    steps = [step for step, _, _ in points]
    times = [time for _, time, _ in points]
    first, last = document.start_ns // 10**6 - 1, (document.start_ns + document.duration_ns) // 10**6 + 1
    problems = []
    if len(set(steps)) != len(steps):
        problems.append(f"{key}: a step twice")
    if times != sorted(times):
        problems.append(f"{key}: time runs backwards from step to step")
    if times and (times[0] < first - slack_ms or times[-1] > last + slack_ms):
        problems.append(f"{key}: times {times[0]}..{times[-1]} are outside of the run, {first}..{last} ms")
    if any(isinstance(value, str) or not math.isfinite(value) for _, _, value in points):
        problems.append(f"{key}: a value that is no number")
    return problems


def check_values(key, points, wanted):
    """Point by point; for a run whose rows never merged, or that was logged from its document."""
    if len(points) != len(wanted):
        return [f"{key}: {len(points)} points, {len(wanted)} are right"]
    for (step, time, value), (right_step, right_time, right) in zip(points, wanted):
        if (step, time) != (right_step, right_time) or not same(right, value):
            return [f"{key}: {value!r} at step {step}, {time} ms; right is {right!r} at {right_step}, {right_time} ms"]
    return []


def check_range(key, points, column, statistics, divisor):
    """No value outside of what was measured; for a run that was logged while it ran."""
    if statistics is None:
        return [f"{key}: was logged, and never measured"] if points else []
    low, high = (0.0, statistics["last"]) if column["kind"] == "counter" else (statistics["min"], statistics["max"])
    slack = 1e-9 * max(abs(low), abs(high)) / divisor
    return [f"{key}: {value!r} is outside of {low / divisor!r}..{high / divisor!r}" for _, _, value in points
            if not low / divisor - slack <= value <= high / divisor + slack][:1]


def check_series(logged, document, node, exact, slack_ms=0):
    prefix = SERIES_KEY.format(node=node, name="")
    problems = []
    keys = logged.keys(prefix)
    if not keys:
        problems.append(f"there is no series {prefix}...")
    for key in keys:
        points = logged.history(key)
        problems += check_steps(key, points, document, slack_ms)
        metric, instance, number, divisor = SERIES.get(key[len(prefix):], (None, None, "", 1))
        index = document.column(metric, instance)
        if index is None:
            problems.append(f"{key}: comes from nowhere")
        elif exact:
            problems += check_values(key, points, series_of(document, metric, instance, number, divisor))
        else:
            problems += check_range(key, points, document.words["columns"][index],
                                    document.statistics(metric, instance),
                                    divisor(document) if callable(divisor) else divisor)
    return problems + check_missing(logged, document, node)


def check_missing(logged, document, node):
    """A series of the table that was measured and is not there."""
    return [f"{SERIES_KEY.format(node=node, name=name)}: is missing"
            for name, source in SERIES.items() if series_of(document, *source) and
            not logged.history(SERIES_KEY.format(node=node, name=name))]


def check_points(logged, node, wanted):
    """wanted: (key, value) with one point at the step of the node each; None: with none."""
    problems = []
    for key, right in wanted:
        points = [value for step, _, value in logged.history(key) if step == node]
        if len(points) != (right is not None):
            problems.append(f"{key}: {'is missing' if not points else f'{len(points)} points'} at step {node}, "
                            f"{right!r} is right")
        elif points:
            problems += check_number(f"{key} of node {node}", right, points[0])
    return problems


def check_others(logged, document):
    """Keys that no table knows."""
    known = {SUMMARY_KEY.format(key=key) for key in NODE_FIGURES} | {key for key, _ in scope_figures(document)} | \
        {RUN_KEY.format(name=name) for name in run_figures(document)} | set(energy_figures(document))
    return [f"{key}: comes from nowhere" for key in logged.keys()
            if key not in known and not re.match(OF_SERIES, key)]


def check_info(logged, document, options):
    info = logged.run.info
    problems = [] if info.status == options.status else [f"the status is {info.status}, {options.status} is right"]
    if options.attached or options.node != 0:
        return problems
    end_ms = (document.start_ns + document.duration_ns) // 10**6
    if abs(info.start_time - document.start_ns // 10**6) > options.start_slack_ms:
        problems.append(f"the run starts at {info.start_time} ms, the document at {document.start_ns // 10**6}")
    if options.status != "RUNNING" and info.end_time != end_ms:
        problems.append(f"the run ends at {info.end_time} ms, the document at {end_ms}")
    return problems


def check_words(kind, found, wanted):
    """wanted: KEY=VALUE each, or KEY alone when any value will do."""
    problems = []
    for pair in wanted:
        key, equals, value = pair.partition("=")
        if key not in found or (equals and found[key] != value):
            problems.append(f"{kind} {key}: {found.get(key)!r}, {value if equals else 'any'!r} is right")
    return problems


def check_artifact(logged, document, node):
    path = artifact_of(node)
    try:
        found = logged.artifact(path)
    except Exception as error:  # whatever the client raises
        return [f"artifact {path}: {error}"]
    return [] if found == document.bytes else \
        [f"artifact {path}: {len(found)} bytes that are not the document's {len(document.bytes)}"]


def check_all(logged, document, options):
    node = options.node
    problems = check_info(logged, document, options)
    problems += check_words("tag", logged.run.data.tags, options.tag_is)
    problems += check_words("tag", logged.run.data.tags, pairs(tags_of(document, node)))
    problems += check_words("parameter", logged.run.data.params, options.param_is)
    if node == 0 and not options.attached:
        problems += check_words("parameter", logged.run.data.params, pairs(parameters_of(document)))
    problems += check_node_figures(logged, document, node)
    problems += check_points(logged, node, [(RUN_KEY.format(name=name), value)
                                            for name, value in run_figures(document).items()])
    problems += check_points(logged, node, energy_figures(document).items())
    if not options.no_series:
        problems += check_series(logged, document, node, options.exact, options.slack_ms)
    if not options.no_scopes:
        problems += check_points(logged, node, scope_figures(document))
    if not options.no_artifact:
        problems += check_artifact(logged, document, node)
    if not options.attached:
        problems += check_others(logged, document)
    return problems


def pairs(words):
    return [f"{key}={value}" for key, value in words.items()]


def parse_arguments(words):
    parser = argparse.ArgumentParser(description="A run on an MLflow server against its document.")
    parser.add_argument("--uri", help="the server, if not MLFLOW_TRACKING_URI")
    parser.add_argument("--document", required=True)
    parser.add_argument("--run", help="the run's id; else --experiment and --tag")
    parser.add_argument("--experiment", default="Default")
    parser.add_argument("--tag", help="KEY=VALUE that one run of the experiment has")
    parser.add_argument("--node", type=int, default=0)
    parser.add_argument("--status", default="FINISHED")
    parser.add_argument("--exact", action="store_true", help="every row of the document's series, no more")
    parser.add_argument("--slack-ms", type=int, default=0, help="how far a time may lie outside of the run")
    parser.add_argument("--start-slack-ms", type=int, default=0, help="another node's document made the run")
    parser.add_argument("--tag-is", action="append", default=[], metavar="KEY[=VALUE]")
    parser.add_argument("--param-is", action="append", default=[], metavar="KEY[=VALUE]")
    parser.add_argument("--no-artifact", action="store_true")
    parser.add_argument("--no-scopes", action="store_true")
    parser.add_argument("--no-series", action="store_true")
    parser.add_argument("--attached", action="store_true", help="the run was made by others, and has more than ours")
    options = parser.parse_args(words)
    if not options.run and not options.tag:
        parser.error("--run or --tag is needed")
    return options


def main(words):
    from mlflow import MlflowClient  # only here: the rest is of use without it

    options = parse_arguments(words)
    client = MlflowClient(options.uri)
    try:
        run_id = options.run or find_run(client, options.experiment, options.tag)
    except LookupError as error:
        sys.exit(str(error))
    logged, document = Logged(client, run_id), Document(options.document)
    problems = check_all(logged, document, options)
    for line in problems:
        print(line)
    print(f"run {run_id}: {len(logged.run.data.metrics)} metrics, {sum(map(len, logged.histories.values()))} points "
          f"compared, {len(problems)} differences")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
