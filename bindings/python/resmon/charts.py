# SPDX-License-Identifier: MIT
"""Which charts a run has, as plain lists: what is measured together, in which unit, and how it is called.

A row of a run's table may cover several samples, and is drawn as its mean, with a band from the least to the
largest of them.  reports.py's two halves, report_html.py and report_pdf.py, draw what is described here.
"""
import math

from . import human, views

_NAN = float("nan")

# Of a line: in place of the number of its colour, where it is a bound.
LIMIT = "limit"


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
    said = [f"{word} {human.text_of(value * factor, unit)}" for word, value in
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
            said = human.text_of(self._summary[name].last * factor, unit)
        return Line(name, label, colour, _points(self._run, name, factor, self._limit), said, is_level)

    def _row_line(self, row):
        """The line of a row of the view "chart", or None."""
        colour = LIMIT if row.is_bound else row.colour
        return self.line(row.metric, row.label, colour, row.unit, 1 / row.divisor, row.series == "last")

    def _row_lines(self, rows):
        return [line for line in map(self._row_line, rows) if line is not None]

    def _not_measured(self, names):
        return f"Not measured: {self.why(names)}"

    def _chart(self, group, wanted, note=""):
        """A group's chart with the lines (column, label, colour)."""
        _, unit = views.head("chart", group)
        lines = [self.line(name, label, colour, unit) for name, label, colour in wanted]
        return self._with_lines(group, lines, [name for name, _, _ in wanted], note)

    def _with_lines(self, group, lines, names, note=""):
        """A group's chart; `names` are the columns whose absence is explained where there are no lines."""
        lines = [line for line in lines if line is not None]
        missing = "" if lines else self._not_measured(names)
        return self._checked(Chart(group, *views.head("chart", group), lines, note, missing))

    def _checked(self, chart):
        if chart.lines and not chart.has_points:
            chart.missing = "One sample only: a rate is the growth between two."
        return chart

    # ---- one by one

    def _split(self, group):
        """The rows of a chart: of the program, more of it, of the machine, of the control group, and bounds.

        Of the program are the first of its process and the first with its children; the process alone where it never had
        any.
        """
        rows = views.rows("chart", group)
        bounds, uses = ([row for row in rows if row.is_bound is wanted] for wanted in (True, False))
        levels = {level: [row for row in uses if row.level == level] for level in ("tree", "process", "node", "cgroup")}
        own = levels["tree"][:1] + levels["process"][:1]
        more = [row for row in uses if row.level in ("tree", "process") and row not in own]
        if self._highest("tree.processes") == 1 and any(self.has(row.metric) for row in levels["process"][:1]):
            own = levels["process"][:1]
        return own, more, levels["node"], levels["cgroup"], bounds

    def _cpu(self):
        own, more, machine, group, bounds = self._split("cpu")
        lines, note = self._row_lines([*own, *more]), "100 % = one CPU"
        if self.cpus:
            note += f"; the machine has {self.cpus:.0f}"
            of_machine = [self.line(row.metric, row.label, row.colour, row.unit, self.cpus) for row in machine]
            lines = [line for line in of_machine if line is not None] + lines
        elif not lines:
            lines, note = self._row_lines(machine), "100 % = all CPUs"
        lines += self._row_lines([*group, *(row for row in bounds if self._highest(row.metric))])
        return self._with_lines("cpu", lines, [row.metric for row in own], note if lines else "")

    def _memory(self):
        own, more, machine, group, bounds = self._split("memory")
        names = [row.metric for row in own]
        lines = self._row_lines(own)
        if not lines and any(self.has(row.metric) for row in machine):
            return self._with_lines("memory", self._row_lines(machine), names)
        lines += self._row_lines(more)
        if any(self.has(row.metric) for row in bounds):
            lines += self._row_lines(group)
        note = ""
        for limit in self._row_lines(bounds):
            used = max((line.top for line in lines), default=0.0)
            # A line far above would make all others flat.
            if used > 0.25 * limit.top:
                lines.append(limit)
            else:
                note = f"{limit.label}: {limit.said}, above this chart"
        return self._with_lines("memory", lines, names, note)

    def _input(self, group):
        rows = views.rows("chart", group)
        for level in ("tree", "process"):
            wanted = [row for row in rows if row.level == level]
            if any(self.has(row.metric) for row in wanted):
                break
        else:
            disks = [row for row in rows if row.level == "node" and self.has(row.metric)]
            if disks:
                why = self.why([row.metric for row in reversed(wanted)])
                return self._with_lines(group, self._row_lines(disks), (), f"by the program: not measured: {why}")
        return self._with_lines(group, self._row_lines(wanted), [row.metric for row in wanted])

    def _optional(self, chart):
        """None of what is not measured; noted, and None, of what was nothing throughout."""
        if not chart.has_points:
            return None
        if not any(line.top for line in chart.lines):
            self.quiet.append(chart.title)
            return None
        return chart

    def instances(self, metric):
        """The columns of a metric that hold anything."""
        return [column for column in self._columns.values() if column.metric == metric and self.has(column.name)]

    def _network(self):
        rows = views.rows("chart", "network")
        found = [(row, column) for row in rows for column in self.instances(row.metric)]
        wanted = [(column.name, row.label, row.colour) for row, column in found if not column.instance]
        # Ports of InfiniBand: a colour for each, from that of the first on.
        ports = [(row, column) for row, column in found if column.instance]
        wanted += [(column.name, f"{column.instance}, {row.label.split(', ')[-1]}", ports[0][0].colour + number)
                   for number, (row, column) in enumerate(ports)]
        note = "every interface but loopback" if self.has(rows[0].metric) else ""
        return self._optional(self._chart("network", wanted, note))

    def _pressure(self):
        rows = views.rows("chart", "pressure")
        group = [row for row in rows if row.level == "cgroup"]
        is_of_group = self.has(group[0].metric)
        lines = self._row_lines(group if is_of_group else [row for row in rows if row.level == "node"])
        whose = "of the control group" if is_of_group else "of the machine"
        return self._optional(Chart("pressure", *views.head("chart", "pressure"), lines,
                                    f"share of the time that some task {whose} waited (PSI)"))

    def _watts(self, name, label, colour, names, joules):
        points = _power(self._run, names, self._limit, self._least)
        seconds = self._run.info.duration_s
        mean = joules / seconds if seconds > 0 else _NAN
        said = f"mean {human.text_of(mean, 'W')}, total {human.text_of(joules, 'J')}" if math.isfinite(mean) else ""
        return Line(name, label, colour, points, said)

    def power(self):
        """The chart of power, or None."""
        energy, lines = self._run.energy, []
        if energy is None:
            return None
        share = []
        for row in views.rows("chart", "power"):
            part = energy.parts.get(row.metric.rpartition(".")[2])
            if row.level == "tree":
                share += [row] if self.has(row.metric) else []
            elif self.has(row.metric) and part is not None:
                lines.append(self._watts(row.metric, row.label, row.colour, [row.metric], part.node_j))
        if share:
            names = [row.metric for row in share]
            lines.append(self._watts("tree.energy", share[0].label, share[0].colour, names, energy.tree_j))
        note = f"of the machine by component, and what of it is the program's; {energy.provenance}"
        return self._optional(Chart("power", *views.head("chart", "power"), lines, note))

    def over_instances(self, metric, unit, is_sum):
        """One line for all instances of a metric, their sum or mean by row; None without any."""
        # Slices are parts of GPUs that are counted already.
        columns = [column for column in self.instances(metric) if ":" not in column.instance]
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
                    f"mean {human.text_of(mean, unit)}, {len(columns)} GPUs")

    def _gpus(self):
        found = []
        for group, note in (("gpu", "share of the time in which a kernel ran"), ("gpu_memory", "")):
            wanted = [(column.name, f"{row.label} {column.instance}", index) for row in views.rows("chart", group)
                      for index, column in enumerate(self.instances(row.metric))]
            found.append(self._optional(self._chart(group, wanted, note)) if wanted else None)
        return found

    def _others(self):
        """A chart for each metric that the table of views does not name."""
        found = []
        for row in views.rows("chart", views.OTHER):
            lines = [self.line(column.name, column.instance or row.label, index, row.unit, 1 / row.divisor)
                     for index, column in enumerate(self.instances(row.metric))]
            found.append(self._optional(Chart(row.metric, row.label, row.unit, lines, row.help)))
        return found

    def charts(self):
        """All charts of the run: four that are always there, and others where there is something to see."""
        always = [self._cpu(), self._memory(), self._input("read"), self._input("write")]
        more = (self.power(), *self._gpus(), self._network(), self._pressure(), *self._others())
        return always + [chart for chart in more if chart is not None]


# Sources that drive the model of a processor, and the shares of a program.
_PACES = ("node_cpu", "proc_cpu", "tree", "energy_cpu", "energy_tree")

# Sources whose reasons tell why columns are absent, by how the columns begin.
_SOURCES = {"proc.cpu": ("proc_cpu",), "tree.cpu": ("tree", "proc_cpu"), "proc.mem": ("proc_mem",),
            "tree.mem": ("tree", "proc_mem"), "proc.io": ("proc_io",), "tree.io": ("tree", "proc_io"),
            "node.cpu": ("node_cpu",), "node.mem": ("node_mem",), "node.disk": ("node_disk",),
            "node.net": ("node_net",), "node.fs": ("node_fs",), "gpu.util": ("gpu",)}


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

    def add_group(group, lines_of):
        for row in views.rows("compare", group):
            if any(reader.has(row.metric) or reader.instances(row.metric) for reader in readers):
                title, unit = views.head("compare", group)
                add(group, title, unit, row.label, [lines_of(reader, row) for reader in readers])
                return

    of_gpus = ("gpu", "gpu_memory")
    for group in views.groups("compare"):
        if group not in of_gpus:
            add_group(group, lambda reader, row: reader.line(row.metric, "", 0, row.unit, 1 / row.divisor))
    energies = [reader.power() for reader in readers]
    lines = [next((line for line in chart.lines if line.key == "tree.energy"), None) if chart else None
             for chart in energies]
    add("power", *views.head("chart", "power"), "the program's share of the machine's", lines)
    for group in of_gpus:
        add_group(group, lambda reader, row: reader.over_instances(row.metric, row.unit, row.group == "gpu_memory"))
    return charts
