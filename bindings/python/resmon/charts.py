# SPDX-License-Identifier: MIT
"""Which charts a run has, as plain lists: what is measured together, in which unit, and how it is called.

A row of a run's table may cover several samples, and is drawn as its mean, with a band from the least to the
largest of them.  reports.py's two halves, report_html.py and report_pdf.py, draw what is described here.
"""
import math

from . import human

_NAN = float("nan")

# Of the line: the number of its colour, or what it stands for.
TREE, PROCESS, MACHINE, PEAK, LIMIT = 1, 0, 2, 3, "limit"


class Line:
    """A series of a chart.  ``times``, ``mean`` and, where there is a band, ``low`` and ``high``: lists of the same
    length; None in them is a gap.  ``said`` is what is known of the whole run, ``is_level``: a bound, not a use."""

    __slots__ = ("key", "label", "colour", "times", "mean", "low", "high", "said", "is_level")

    def __init__(self, key, label, colour, points, said="", is_level=False):
        self.key, self.label, self.colour, self.said, self.is_level = key, label, colour, said, is_level
        self.times, self.mean, self.low, self.high = points

    @property
    def top(self):
        """The largest value, 0 where there is none."""
        return max((v for v in self.high or self.mean if v is not None), default=0.0)


class Chart:
    """Lines that share an axis; ``missing`` says why there are none."""

    __slots__ = ("key", "title", "unit", "lines", "note", "missing")

    def __init__(self, key, title, unit, lines, note="", missing=""):
        self.key, self.title, self.unit, self.lines, self.note, self.missing = key, title, unit, lines, note, missing

    @property
    def has_points(self):
        """Whether anything is to be drawn."""
        return any(v is not None for line in self.lines for v in line.mean)


def value_text(value, unit):
    """A value of a chart's unit, "B/s" among them."""
    name, _, per = unit.partition("/")
    return human.text_of(value, name, "/" + per if per else "")


# ---- from rows to points --------------------------------------------------------------------------


def _merged(points, group):
    """Points (row, time, weight, mean, low, high) with those of `group` rows made one, extremes kept."""
    if group == 1:
        return points
    merged = []
    for row, time, weight, mean, low, high in points:
        if merged and merged[-1][0] == row // group:
            last = merged[-1]
            last[1] = time
            last[3] += mean * weight
            last[2] += weight
            last[4], last[5] = min(last[4], low), max(last[5], high)
        else:
            merged.append([row // group, time, weight, mean * weight, low, high])
    return [(row, time, weight, total / weight, low, high) for row, time, weight, total, low, high in merged]


def _with_gaps(points, span):
    """Lists of times, means, lows and highs, with a None where readings that had been regular are absent.

    Sources that cost much are read less often than there are rows: that is no gap.
    """
    steps = sorted(b[0] - a[0] for a, b in zip(points, points[1:]))
    usual = steps[len(steps) // 2] if steps else 1
    times, lists = [], ([], [], [])
    for index, (row, time, _, *values) in enumerate(points):
        if index and row - points[index - 1][0] > 8 * usual and time - points[index - 1][1] > span / 20:
            times.append((time + points[index - 1][1]) / 2)
            for one in lists:
                one.append(None)
        times.append(time)
        for one, value in zip(lists, values):
            one.append(value)
    return times, *lists


def _finished(points, rows, limit, span):
    """Points as a line has them, no more than about `limit`; the band only where one would see it."""
    points = _merged(points, max(math.ceil(rows / limit), 1))
    times, mean, low, high = _with_gaps(points, span)
    known = [(a, b) for a, b in zip(low, high) if a is not None]
    top = max((abs(b) for _, b in known), default=0.0)
    if not any(b - a > top / 100 for a, b in known):
        low = high = None
    return times, mean, low, high


def _points(run, name, factor, limit):
    """One column: means of gauges, rates of counters."""
    times, points, before = run.times, [], None
    columns = zip(times, run.series(name, "mean"), run.series(name, "min"), run.series(name, "max"))
    for row, (time, mean, low, high) in enumerate(columns):
        if math.isfinite(mean):
            low, high = low if math.isfinite(low) else mean, high if math.isfinite(high) else mean
            weight = time - before if before is not None and time > before else 1e-9
            before = time
            points.append((row, time, weight, mean * factor, low * factor, high * factor))
    return _finished(points, len(times), limit, times[-1] if times else 0.0)


def _power_of_rows(times, totals, least):
    """The power of each row from a counter of joules: even between two rows in which the counter grew, `least` apart.

    What feeds the counter may be read less often than rows end: by row, its rate would be nothing for some, and all
    for one.
    """
    powers = [_NAN] * len(times)
    known = [(row, total) for row, total in enumerate(totals) if math.isfinite(total)]
    grown = known[:1]
    for row, total in known:
        if total > grown[-1][1] and (row - grown[-1][0] >= least or len(grown) == 1):
            grown.append((row, total))
    steps = sorted(b[0] - a[0] for a, b in zip(grown, grown[1:]))
    pace = steps[len(steps) // 2] if steps else 0
    for (before, low), (row, high) in zip(grown, grown[1:]):
        begin = before if row - before <= 8 * pace else row - pace
        watts = (high - low) / max(times[row] - times[begin], 1e-9)
        powers[before + 1:row + 1] = [0.0] * (begin - before) + [watts] * (row - begin)
    if known and known[-1][0] - grown[-1][0] > 8 * pace:
        powers[grown[-1][0] + 1:known[-1][0] + 1] = [0.0] * (known[-1][0] - grown[-1][0])
    return powers


def _power(run, names, limit, least):
    """Watts of columns of joules, added up."""
    times, sums = run.times, None
    for name in names:
        powers = _power_of_rows(times, run.series(name, "last"), least)
        sums = powers if sums is None else [a if b != b else b if a != a else a + b for a, b in zip(sums, powers)]
    points = [(row, times[row], times[row] - times[row - 1] if row else 1e-9, watts, watts, watts)
              for row, watts in enumerate(sums or ()) if watts == watts]
    return _finished(points, len(times), limit, times[-1] if times else 0.0)


# ---- the charts -----------------------------------------------------------------------------------


def _said(statistics, unit, factor=1.0):
    """What a legend tells of the whole run, from every sample."""
    said = [f"{word} {value_text(value * factor, unit)}" for word, value in
            (("mean", statistics.mean), ("max", statistics.max)) if math.isfinite(value)]
    if statistics.is_counter and math.isfinite(statistics.last):
        total = statistics.last
        said.append(f"total {human.text_of(total, statistics.unit)}")
    return ", ".join(said)


class Reader:
    """Makes the lines and charts of one run, of at most about `limit` points each."""

    def __init__(self, run, limit=800):
        self._run, self._limit = run, limit
        self._summary = run.summary
        self._columns = {column.name: column for column in run.columns}
        self._sources = {source.name: source for source in run.sources}
        # Rows of several samples hold now one, now two steps of what is read every so many samples.
        stride = max(run.info.stride, 1)
        every = max((self._sources[name].every for name in _PACES if name in self._sources), default=1)
        self._least = math.ceil(4 * every / stride) if stride > 1 else 1
        self.quiet = []  # titles of what was measured, and was nothing throughout
        machine = run.facts.get("machine", {})
        self.cpus = self._highest("node.cpu.online") or machine.get("cpus") or 0

    def _highest(self, name):
        value = self._summary[name].max if name in self._summary else _NAN
        return value if math.isfinite(value) else 0.0

    def has(self, name):
        """Whether a column holds anything."""
        return name in self._summary and self._summary[name].n > 0

    def why(self, names):
        """Why none of these columns holds anything."""
        for name in names:
            column, group = self._columns.get(name), ".".join(name.split(".")[:2])
            for source in ((column.source,) if column else ()) + _SOURCES.get(group, ()):
                source = self._sources.get(source)
                # What is said of a source that can be read is about some of its columns.
                if source is not None and source.reason and (not source.available or name in source.reason):
                    return source.reason
        if any(name in self._columns for name in names):
            return "there was no reading of it"
        return "it was not among what this run recorded"

    def line(self, name, label, colour, unit, factor=1.0, is_level=False):
        """The line of a column, or None where it holds nothing."""
        if not self.has(name):
            return None
        said = _said(self._summary[name], unit, factor)
        if is_level:
            said = value_text(self._summary[name].last * factor, unit)
        return Line(name, label, colour, _points(self._run, name, factor, self._limit), said, is_level)

    def _chart(self, key, title, unit, wanted, note="", factor=1.0):
        lines = [self.line(name, label, colour, unit, factor) for name, label, colour in wanted]
        lines = [line for line in lines if line is not None]
        missing = "" if lines else f"Not measured: {self.why([name for name, _, _ in wanted])}"
        return self._checked(Chart(key, title, unit, lines, note, missing))

    def _checked(self, chart):
        if chart.lines and not chart.has_points:
            chart.missing = "One sample only: a rate is the growth between two."
        return chart

    # ---- one by one

    def _levels(self, metric, after):
        """The process and its children; the process alone where it never had any."""
        both = [(f"tree.{metric}", "with children" + after, TREE), (f"proc.{metric}", "process" + after, PROCESS)]
        alone = self.has(f"proc.{metric}") and self._highest("tree.processes") == 1
        return both[1:] if alone else both

    def _cpu(self):
        wanted = self._levels("cpu.percent", "")
        lines = [self.line(name, label, colour, "%") for name, label, colour in wanted]
        note = "100 % = one CPU"
        if self.cpus:
            note += f"; the machine has {self.cpus:.0f}"
            lines.insert(0, self.line("node.cpu.percent", "machine, all programs", MACHINE, "%", self.cpus))
        elif not any(lines):
            lines = [self.line("node.cpu.percent", "machine, all programs", MACHINE, "%")]
            note = "100 % = all CPUs"
        if self._highest("cg.cpu.quota"):
            lines.append(self.line("cg.cpu.quota", "quota of the control group", LIMIT, "%", 100.0, True))
        lines = [line for line in lines if line is not None]
        missing = "" if lines else f"Not measured: {self.why([name for name, _, _ in wanted])}"
        return self._checked(Chart("cpu", "CPU", "%", lines, note if lines else "", missing))

    def _memory(self):
        chart = self._chart("memory", "Memory", "B", self._levels("mem.rss", " (RSS)"))
        if not chart.lines and self.has("node.mem.used"):
            return self._chart("memory", "Memory", "B", [("node.mem.used", "machine, in use", MACHINE)])
        peak = self.line("proc.mem.peak_rss", "highest RSS so far", PEAK, "B", 1.0, True)
        if peak is not None:
            chart.lines.append(peak)
        for name, label in (("tree.mem.pss", "with children (PSS)"), ("cg.mem.working_set", "control group, working set")):
            if self.has(name) and (name.startswith("tree") or self.has("cg.mem.limit")):
                chart.lines.append(self.line(name, label, 4 if name.startswith("tree") else MACHINE, "B"))
        limit = self.line("cg.mem.limit", "limit of the control group", LIMIT, "B", 1.0, True)
        if limit is not None:
            used = max((line.top for line in chart.lines), default=0.0)
            # A line far above would make all others flat.
            if used > 0.25 * limit.top:
                chart.lines.append(limit)
            else:
                chart.note = f"limit of the control group: {limit.said}, above this chart"
        chart.missing = "" if chart.lines else chart.missing
        return chart

    def _input(self, direction, verb, title):
        for level in ("tree", "proc"):
            wanted = [(f"{level}.io.{direction}_bytes", "storage", PROCESS),
                      (f"{level}.io.{direction}_chars", f"{direction} calls, caches and pipes too", TREE)]
            if any(self.has(name) for name, _, _ in wanted):
                break
        else:
            disks = f"node.disk.{direction}_bytes"
            if self.has(disks):
                return self._chart(direction, title, "B/s", [(disks, f"disks of the machine, {verb}", MACHINE)],
                                   f"by the program: not measured: {self.why([name for name, _, _ in wanted])}")
        return self._chart(direction, title, "B/s", wanted[::-1])

    def _optional(self, chart):
        """None of what is not measured; noted, and None, of what was nothing throughout."""
        if not chart.has_points:
            return None
        if not any(line.top for line in chart.lines):
            self.quiet.append(chart.title)
            return None
        return chart

    def _instances(self, metric):
        return [column for column in self._columns.values() if column.metric == metric and self.has(column.name)]

    def _network(self):
        wanted = [("node.net.ext.recv", "received", PROCESS), ("node.net.ext.sent", "sent", TREE)]
        for metric, word in (("node.ib.recv", "received"), ("node.ib.sent", "sent")):
            wanted += [(column.name, f"{column.instance or 'InfiniBand'}, {word}", 2 + len(wanted) + number)
                       for number, column in enumerate(self._instances(metric))]
        note = "every interface but loopback" if self.has(wanted[0][0]) else ""
        return self._optional(self._chart("network", "Network of the machine", "B/s", wanted, note))

    def _pressure(self):
        level = "cg" if self.has("cg.psi.cpu_some") else "node"
        wanted = [(f"{level}.psi.{what}_some", label, colour) for what, label, colour in
                  (("cpu", "for a CPU", PROCESS), ("io", "for I/O", TREE), ("memory", "for memory", PEAK))]
        lines = [self.line(name, label, colour, "%", 100.0) for name, label, colour in wanted]
        whose = "of the control group" if level == "cg" else "of the machine"
        chart = Chart("pressure", "Pressure: tasks wait", "%", [line for line in lines if line],
                      f"share of the time that some task {whose} waited (PSI)")
        return self._optional(chart)

    def _watts(self, name, label, colour, names, joules):
        points = _power(self._run, names, self._limit, self._least)
        seconds = self._run.info.duration_s
        mean = joules / seconds if seconds > 0 else _NAN
        said = f"mean {human.prefixed(mean, 'W')}, total {human.prefixed(joules, 'J')}" if math.isfinite(mean) else ""
        return Line(name, label, colour, points, said)

    def power(self):
        """The chart of power, or None."""
        energy, lines = self._run.energy, []
        if energy is None:
            return None
        labels = {"cpu": ("processors", MACHINE), "ram": ("memory", PEAK), "gpu": ("GPUs", 4)}
        for part, (label, colour) in labels.items():
            name = f"node.energy.{part}"
            if self.has(name) and part in energy.parts:
                lines.append(self._watts(name, label, colour, [name], energy.parts[part].node_j))
        share = [f"tree.energy.{part}" for part in labels if self.has(f"tree.energy.{part}")]
        if share:
            lines.append(self._watts("tree.energy", "this program's share of all", TREE, share, energy.tree_j))
        note = f"of the machine by component, and what of it is the program's; {energy.provenance}"
        return self._optional(Chart("power", "Power", "W", lines, note))

    def over_instances(self, metric, unit, is_sum):
        """One line for all instances of a metric, their sum or mean by row; None without any."""
        # Slices are parts of GPUs that are counted already.
        columns = [column for column in self._instances(metric) if ":" not in column.instance]
        if not columns:
            return None
        times, points = self._run.times, []
        for row, values in enumerate(zip(*(self._run.series(column.name, "mean") for column in columns))):
            known = [value for value in values if value == value]
            if known:
                value = sum(known) / (1 if is_sum else len(known))
                points.append((row, times[row], times[row] - times[row - 1] if row else 1e-9, value, value, value))
        statistics = [self._summary[column.name] for column in columns]
        mean = sum(one.mean for one in statistics) / (1 if is_sum else len(statistics))
        return Line(metric, "", 0, _finished(points, len(times), self._limit, times[-1]),
                    f"mean {value_text(mean, unit)}, {len(columns)} GPUs")

    def _gpus(self):
        found = []
        for key, metric, title, unit, note in (
                ("gpu", "gpu.util", "GPU use", "%", "share of the time in which a kernel ran"),
                ("gpu_memory", "gpu.mem.used", "GPU memory", "B", "")):
            wanted = [(column.name, f"GPU {column.instance}", index) for index, column in
                      enumerate(self._instances(metric))]
            found.append(self._optional(self._chart(key, title, unit, wanted, note)) if wanted else None)
        return found

    def charts(self):
        """All charts of the run: four that are always there, and others where there is something to see."""
        always = [self._cpu(), self._memory(), self._input("read", "read", "Read"),
                  self._input("write", "written", "Write")]
        return always + [chart for chart in (self.power(), *self._gpus(), self._network(), self._pressure())
                         if chart is not None]


# Sources that drive the model of a processor, and the shares of a program.
_PACES = ("node_cpu", "proc_cpu", "tree", "energy_cpu", "energy_tree")

# Sources whose reasons tell why columns are absent, by how the columns begin.
_SOURCES = {"proc.cpu": ("proc_cpu",), "tree.cpu": ("tree", "proc_cpu"), "proc.mem": ("proc_mem",),
            "tree.mem": ("tree", "proc_mem"), "proc.io": ("proc_io",), "tree.io": ("tree", "proc_io"),
            "node.cpu": ("node_cpu",), "node.mem": ("node_mem",), "node.disk": ("node_disk",),
            "node.net": ("node_net",), "node.fs": ("node_fs",), "gpu.util": ("gpu",)}

# Of several runs: which columns, the first that any of them has.
_COMBINED = (
    ("cpu", "CPU", "%", (("tree.cpu.percent", "of the program and its children; 100 % = one CPU"),
                         ("proc.cpu.percent", "of the program; 100 % = one CPU"))),
    ("node_cpu", "CPU of the machine", "%", (("node.cpu.percent", "100 % = all CPUs"),)),
    ("memory", "Memory", "B", (("tree.mem.rss", "RSS of the program and its children"),
                               ("proc.mem.rss", "RSS of the program"), ("node.mem.used", "of the machine, in use"))),
    ("read", "Read", "B/s", (("tree.io.read_bytes", "from storage, by the program"),
                             ("proc.io.read_bytes", "from storage, by the program"),
                             ("node.disk.read_bytes", "disks of the machine"))),
    ("write", "Write", "B/s", (("tree.io.write_bytes", "to storage, by the program"),
                               ("proc.io.write_bytes", "to storage, by the program"),
                               ("node.disk.write_bytes", "disks of the machine"))),
)


def combined_charts(runs, labels, limit):
    """Charts with one line for each run, in the order of the runs; a line's key is the number of its run."""
    readers = [Reader(run, limit) for run in runs]
    charts = []

    def add(key, title, unit, note, lines):
        absent = [label for label, line in zip(labels, lines) if line is None]
        present = []
        for index, line in enumerate(lines):
            if line is not None:
                line.key, line.label, line.colour = index, labels[index], index
                line.low = line.high = None
                present.append(line)
        if absent and present:
            note += f"; not measured: {', '.join(absent[:4])}" + (f" and {len(absent) - 4} more" if absent[4:] else "")
        chart = Chart(key, title, unit, present, note)
        if chart.has_points:
            charts.append(chart)

    for key, title, unit, candidates in _COMBINED:
        for name, note in candidates:
            if any(reader.has(name) for reader in readers):
                add(key, title, unit, note, [reader.line(name, "", 0, unit) for reader in readers])
                break
    energies = [reader.power() for reader in readers]
    lines = [next((line for line in chart.lines if line.key == "tree.energy"), None) if chart else None
             for chart in energies]
    add("power", "Power", "W", "the program's share of the machine's", lines)
    for key, metric, title, unit, note in (("gpu", "gpu.util", "GPU use", "%", "mean of the GPUs"),
                                           ("gpu_memory", "gpu.mem.used", "GPU memory", "B", "sum of the GPUs")):
        add(key, title, unit, note, [reader.over_instances(metric, unit, key == "gpu_memory") for reader in readers])
    return charts
