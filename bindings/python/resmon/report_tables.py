# SPDX-License-Identifier: MIT
"""What a report says in words and tables, for HTML and PDF alike: texts, nothing of how they look.

Texts from a run are shown as they are, but for characters that would act instead of being seen.
"""
import math
import os
import re

from . import _abi, human

# Controls, and marks that turn the direction of what follows: a name must not rewrite the page around it.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
                     "\ud800-\udfff]")


def shown(value):
    """Text with what cannot be seen spelled out: "\\u202e"."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", str(value))


class Missing(str):
    """"-", and why."""

    reason = ""

    @classmethod
    def because(cls, reason):
        """A figure that is not known for this reason."""
        missing = cls(human.UNKNOWN)
        missing.reason = shown(reason)
        return missing


class Share(str):
    """A text with a bar behind it: ``share`` of the whole, and of that ``inner``, both from 0 to 1."""

    share = inner = 0.0

    @classmethod
    def of(cls, text, share, inner):
        """A text and its bar."""
        cell = cls(text)
        cell.share, cell.inner = min(max(share, 0.0), 1.0), min(max(inner, 0.0), 1.0)
        return cell


class Table:
    """Headers, rows of texts, and how many columns from the left are no numbers.  ``wide``: columns of long text."""

    __slots__ = ("title", "headers", "rows", "left", "wide", "notes")

    def __init__(self, title, headers, rows, left=1, wide=(), notes=()):
        self.title, self.headers, self.left, self.wide = title, headers, left, wide
        self.rows, self.notes = rows, [note for note in notes if note]


def _known(value):
    return value is not None and value == value and math.isfinite(value)


def or_missing(text, value, reason):
    """The text of a value, or why there is none."""
    return text(value) if _known(value) else Missing.because(reason)


def joules(value):
    """"15.4 J"."""
    return human.prefixed(value, "J")


def grams(value):
    """"63 ug", "1.2 kg"; of CO2eq."""
    return human.prefixed(value, "g")


def kilowatt_hours(value):
    """"23.5 mWh"."""
    return human.prefixed(value * 1000, "Wh")


def time_text(run):
    """"2026-11-22 01:47:03 UTC"."""
    try:
        return run.info.start.strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return Missing.because("the run does not say when it began")


# ---- names of runs --------------------------------------------------------------------------------


def host_of(run):
    """The host, or the job's name for the node."""
    facts = run.facts
    return str(facts.get("machine", {}).get("host_name") or facts.get("job", {}).get("node_name") or "an unknown host")


def name_of(run):
    """What was run."""
    facts = run.facts.get("run", {})
    return str(facts.get("name") or os.path.basename(str(facts.get("executable", ""))) or "run")


def labels_of(runs):
    """A short name for each run that tells it from the others."""
    hosts, names = [host_of(run) for run in runs], [name_of(run) for run in runs]
    if len(set(hosts)) == len(runs) and len(set(names)) < len(runs):
        labels = hosts
    elif len(set(hosts)) == 1:
        labels = names
    else:
        labels = [f"{host}, {name}" for host, name in zip(hosts, names)] if len(set(names)) > 1 else hosts
    ranks = [run.facts.get("job", {}).get("rank") for run in runs]
    if len(set(labels)) < len(runs) and None not in ranks and len(set(zip(labels, ranks))) == len(runs):
        labels = [f"{label}, rank {rank}" for label, rank in zip(labels, ranks)]
    seen = {}
    for index, label in enumerate(labels):
        seen[label] = number = seen.get(label, 0) + 1
        if number > 1:
            labels[index] = f"{label} ({number})"
    return [shown(label)[:80] for label in labels]


def offsets_of(runs):
    """Seconds by which each run began after the first; None where they do not overlap in time."""
    starts = [run.info.start_realtime_ns for run in runs]
    if len(runs) < 2 or min(starts) <= 0:
        return None
    offsets = [(start - min(starts)) / 1e9 for start in starts]
    ends = [offset + run.info.duration_s for offset, run in zip(offsets, runs)]
    return offsets if max(offsets) < min(ends) else None


def are_nodes(runs):
    """Whether the runs are parts of one job, rather than to be compared."""
    jobs = {run.facts.get("job", {}).get("key") or run.facts.get("job", {}).get("id") for run in runs}
    return len(jobs) == 1 and None not in jobs or offsets_of(runs) is not None


def word_of(runs):
    """What the runs are: "node", "process" (several on a host) or "run"."""
    if not are_nodes(runs):
        return "run"
    return "node" if len({host_of(run) for run in runs}) == len(runs) else "process"


def words_of(runs):
    """The same, of several."""
    word = word_of(runs)
    return word + ("es" if word == "process" else "s")


def runs_text(runs):
    """"4 nodes of train.py; from 2026-11-22 01:47:03 UTC; the longest took 3 min 20 s"."""
    words = words_of(runs)
    names = sorted({shown(name_of(run)) for run in runs})
    starts = sorted(str(time_text(run)) for run in runs)
    return (f"{len(runs)} {words} of {', '.join(names[:4])}{' and others' if len(names) > 4 else ''}; "
            f"from {starts[0]}; the longest took {human.seconds_text(max(run.info.duration_s for run in runs))}")


# ---- headline -------------------------------------------------------------------------------------


def _energy_reason(run):
    energy, domains = run.energy, run.facts.get("settings", {}).get("domains")
    if energy is None:
        was_asked = not isinstance(domains, int) or domains & _abi.DOMAINS["energy"]
        return "nothing is known of the energy" if was_asked else "energy was not asked for"
    return energy.remark or "; ".join(part.method for part in energy.parts.values() if part.method) or "not known"


_FIGURES = (
    # key, label, text, columns that it is made from
    ("wall_s", "wall time", human.seconds_text, ()),
    ("cpu_s", "CPU time", human.seconds_text, ("tree.cpu.time", "proc.cpu.time")),
    ("rss_peak_bytes", "peak RSS", human.bytes_text, ("proc.mem.peak_rss", "proc.mem.rss")),
    ("read_bytes", "read", human.bytes_text, ("tree.io.read_bytes", "proc.io.read_bytes")),
    ("write_bytes", "written", human.bytes_text, ("tree.io.write_bytes", "proc.io.write_bytes")),
    ("energy_j", "energy", joules, ()),
    ("gco2eq", "CO2eq", grams, ()),
)


def _figure_cells(run, reader):
    headline, cells = run.headline, []
    for key, _, text, columns in _FIGURES:
        reason = reader.why(columns) if columns else _energy_reason(run)
        cells.append(or_missing(text, headline[key], reason))
    return cells


def _tile_notes(run):
    """Small print under the figures, by key."""
    headline, energy, notes = run.headline, run.energy, {}
    if _known(headline["cpu_s"]) and headline["wall_s"] > 0:
        notes["cpu_s"] = f"{headline['cpu_s'] / headline['wall_s']:.2f} CPUs on average"
    summary = run.summary
    for key, direction in (("read_bytes", "read"), ("write_bytes", "write")):
        name = f"tree.io.{direction}_chars"
        notes[key] = "storage"
        if name in summary and _known(summary[name].last):
            notes[key] += f"; {human.bytes_text(summary[name].last)} by {direction} calls"
    notes["rss_peak_bytes"] = "of the process"
    if "tree.processes" in summary and summary["tree.processes"].max > 1 and "tree.mem.rss" in summary:
        notes["rss_peak_bytes"] += f"; {human.bytes_text(summary['tree.mem.rss'].max)} with children"
    if energy and _known(energy.tree_j):
        notes["energy_j"] = f"of {joules(energy.node_j)} of the machine, {energy.provenance}"
        notes["gco2eq"] = f"{energy.g_per_kwh:.0f} g/kWh, {shown(energy.place) or energy.basis}"
    return notes


def tiles(run, reader):
    """Headline figures: (label, text, small print)."""
    notes = _tile_notes(run)
    found = []
    for (key, label, _, _), cell in zip(_FIGURES, _figure_cells(run, reader)):
        found.append((label, cell, cell.reason if isinstance(cell, Missing) else notes.get(key, "")))
    return found


def _total(values):
    return sum(values) if all(_known(value) for value in values) else math.nan


def combined_tiles(runs, is_job):
    """Headline figures of several runs: sums where they are nodes of one job, else how far they lie apart."""
    headlines, found = [run.headline for run in runs], [(words_of(runs), str(len(runs)), "")]
    for key, label, text, _ in _FIGURES:
        values = [headline[key] for headline in headlines]
        known = [value for value in values if _known(value)]
        if not known:
            found.append((label, Missing.because("of none of them is this known"), "of none of them is this known"))
            continue
        spread = f"{text(min(known))} to {text(max(known))}"
        spread = f"{text(min(known))} each" if text(min(known)) == text(max(known)) else spread
        if is_job and key not in ("wall_s", "rss_peak_bytes"):
            total = _total(values)
            reason = f"known of {len(known)} of {len(values)} only"
            found.append((label, or_missing(text, total, reason), spread if _known(total) else reason))
        else:
            found.append((label, text(max(known)), f"the most; {spread}"))
    return found


def runs_table(runs, labels, readers, is_job):
    """A row for each run, and for nodes of a job one for all of them."""
    headers = [word_of(runs), "start (UTC)", "state", *(label for _, label, _, _ in _FIGURES)]
    rows = []
    for run, label, reader in zip(runs, labels, readers):
        start = time_text(run)
        rows.append([label, start if isinstance(start, Missing) else start[:-4], run.info.state,
                     *_figure_cells(run, reader)])
    if is_job:
        headlines = [run.headline for run in runs]
        cells = []
        for key, _, text, _ in _FIGURES:
            values = [headline[key] for headline in headlines]
            value = (max((v for v in values if _known(v)), default=math.nan) if key in ("wall_s", "rss_peak_bytes")
                     else _total(values))
            cells.append(or_missing(text, value, "not known of all of them"))
        rows.append(["all", "", "", *cells])
    return Table(words_of(runs).capitalize(), headers, rows, 3, notes=[
        "all: the longest time and the highest peak; sums of the others" if is_job else ""])


def _percent(value):
    return human.percent_text(value)


def _hours(value):
    return human.seconds_text(value * 3600)


def _mebibytes(value):
    return human.bytes_text(value * 1048576)


# The 18 figures of a node: their name, what they are called here, and their text.
_NODE_FIGURES = {
    "cpu_avg_utilization_pct": ("CPU, mean", _percent),
    "cpu_avg_utilization_over20_pct": ("time at 20 % or more", _percent),
    "cpu_avg_utilization_over40_pct": ("time at 40 % or more", _percent),
    "cpu_avg_utilization_over80_pct": ("time at 80 % or more", _percent),
    "cpu_avg_utilization_at100_pct": ("time at 100 %", _percent),
    "max_t_cpu_pct_per_cpu_avg": ("highest mean of CPUs", _percent),
    "max_t_cpu_pct_per_cpu_min": ("highest of the idlest CPU", _percent),
    "max_t_cpu_pct_per_cpu_max": ("highest of the busiest CPU", _percent),
    "node_cpu_hours": ("CPU time at hand", _hours),
    "node_unused_cpu_hours": ("CPU time unused", _hours),
    "max_t_mem_percent": ("memory, highest", _percent),
    "max_t_disk_usage_percent": ("file system, highest", _percent),
    "total_disk_io_read_mb": ("disks, read", _mebibytes),
    "total_disk_io_write_mb": ("disks, written", _mebibytes),
    "total_net_io_lo_sent_mb": ("loopback, sent", _mebibytes),
    "total_net_io_ext_sent_mb": ("network, sent", _mebibytes),
    "total_net_io_lo_recv_mb": ("loopback, received", _mebibytes),
    "total_net_io_ext_recv_mb": ("network, received", _mebibytes),
}
_FIGURE_SOURCES = (("cpu", "node.cpu.percent"), ("mem", "node.mem.percent"), ("disk_usage", "node.fs.percent"),
                   ("disk_io", "node.disk.read_bytes"), ("net", "node.net.ext.sent"))


def _node_cell(key, value, reader):
    _, text = _NODE_FIGURES.get(key, ("", human.count_text))
    column = next((column for part, column in _FIGURE_SOURCES if part in key), "")
    return or_missing(text, value, reader.why([column]) if not _known(value) else "")


def node_tables(runs, labels, readers):
    """The 18 figures of each node: a column for each of few nodes, else a row, by groups of figures."""
    figures = [run.figures for run in runs]
    keys = list(figures[0])
    names = {key: _NODE_FIGURES.get(key, (key,))[0] for key in keys}
    cells = {key: [_node_cell(key, one[key], reader) for one, reader in zip(figures, readers)] for key in keys}
    if all(isinstance(cell, Missing) for row in cells.values() for cell in row):
        reasons = sorted({cell.reason for row in cells.values() for cell in row})
        return [Table("Node figures", ["", ""], [["none is known", "; ".join(reasons[:4])]], 2, (1,))]
    if len(runs) <= 4:
        rows = [[names[key], key, *cells[key]] for key in keys]
        return [Table("Node figures", ["figure", "name", *labels], rows, 2)]
    groups = ([key for key in keys if "cpu" in key], [key for key in keys if "cpu" not in key])
    return [Table("Node figures: CPU" if index == 0 else "Node figures: memory, disks, network",
                  ["node", *(names[key] for key in group)],
                  [[label, *(cells[key][row] for key in group)] for row, label in enumerate(labels)])
            for index, group in enumerate(groups)]


# ---- one run --------------------------------------------------------------------------------------

MAX_SCOPES = 400


def about(text, is_about, mark):
    """The text with a mark where it is only about right."""
    return mark + text if is_about and text != human.UNKNOWN else text


def _scope_columns(scopes):
    sampled = "sampled"
    columns = [
        ("calls", lambda s: human.count_text(s.calls + s.open)), ("wall", None),
        ("self", lambda s: human.seconds_text(s.self_s)),
        ("longest", lambda s: human.seconds_text(s.wall_max_s)),
        ("CPU", lambda s: about(human.seconds_text(s.cpu_s), s.cpu_provenance == sampled, "~")),
        ("peak RSS", lambda s: about(human.bytes_text(s.rss_peak_bytes), s.rss_provenance == sampled, "\u2265")),
        ("read", lambda s: about(human.bytes_text(s.io_read_bytes), s.io_provenance == sampled, "~")),
        ("written", lambda s: about(human.bytes_text(s.io_write_bytes), s.io_provenance == sampled, "~")),
        ("read calls", lambda s: about(human.bytes_text(s.io_read_chars), s.io_provenance == sampled, "~")),
        ("write calls", lambda s: about(human.bytes_text(s.io_write_chars), s.io_provenance == sampled, "~")),
        ("energy", lambda s: about(joules(s.energy_j), s.energy_uncertainty_j > 0.1 * s.energy_j, "~")),
        ("CO2eq", lambda s: about(grams(s.energy_gco2eq), s.energy_uncertainty_j > 0.1 * s.energy_j, "~")),
    ]
    return [(name, text) for name, text in columns
            if text is None or any(text(scope) != human.UNKNOWN for scope in scopes)]


def scope_table(run):
    """The tree of scopes with a bar for the share of the time; None without scopes."""
    scopes = run.scopes
    if not scopes:
        return None
    wall = [scope.wall_s + scope.open_s for scope in scopes]
    chosen = range(len(scopes))
    if len(scopes) > MAX_SCOPES:
        # A scope takes no longer than the one that it is in: those that are left hang together.
        chosen = sorted(sorted(chosen, key=lambda i: (-wall[i], i))[:MAX_SCOPES])
    whole = max(max(wall), run.info.duration_s, 1e-9)
    columns = _scope_columns(scopes)
    rows = []
    for index in chosen:
        scope, cells = scopes[index], []
        for _, text in columns:
            if text is None:
                share = wall[index] / whole
                cells.append(Share.of(human.seconds_text(wall[index]), share, scope.self_s / whole))
            else:
                cell = text(scope)
                cells.append(Missing.because("not metered") if cell == human.UNKNOWN else cell)
        label = "\u2003" * scope.depth + shown(scope.name)[:200] + (" (open)" if scope.open else "")
        rows.append([label, *cells])
    left_out = len(scopes) - len(rows)
    marks = "".join(cell[0] for row in rows for cell in row[1:] if cell[:1] in ("~", "\u2265"))
    notes = ["Time is summed over calls and threads. Bar: share of the run, the dark part outside of scopes within.",
             "~ about: not every call was metered, or it lies between two samples. " * ("~" in marks) +
             "\u2265 at least." * ("\u2265" in marks),
             f"{left_out:,} scopes that took less time are left out." if left_out else ""]
    return Table("Scopes", ["scope", *(name for name, _ in columns)], rows, 1, notes=notes)


def energy_table(run):
    """Joules by component; None where nothing is known of energy."""
    energy = run.energy
    if energy is None:
        return None
    rows, reason = [], energy.remark or "no component is known"
    for part in energy.parts.values():
        why = part.method or "not known"
        rows.append([shown(part.name), part.provenance, or_missing(joules, part.node_j, why),
                     or_missing(joules, part.tree_j, why), shown(part.method)])
    by_model = f"{energy.modelled_share * 100:.0f} % of it by a model" if energy.modelled_share > 0 else ""
    place = shown(energy.place) or {"world": "the world's average"}.get(energy.basis, energy.basis)
    year = f", {energy.year}" if energy.year else ""
    for label, known, text, of_node, of_tree, method in (
            ("all", energy.provenance, joules, energy.node_j, energy.tree_j, by_model),
            ("electricity", "", kilowatt_hours, energy.node_kwh, energy.tree_kwh,
             f"PUE {energy.pue:.2f}" if _known(energy.pue) else ""),
            ("CO2eq", energy.basis, grams, energy.node_gco2eq, energy.tree_gco2eq,
             f"{energy.g_per_kwh:.0f} g/kWh: {place}{year}" if _known(energy.g_per_kwh) else "")):
        rows.append([label, known, or_missing(text, of_node, reason), or_missing(text, of_tree, reason), method])
    notes = [f"Source of the intensity: {shown(energy.source)}" if energy.source else "", shown(energy.remark)]
    return Table("Energy", ["", "how known", "machine", "program's share", "method"], rows, 2, (4,), notes)


def tag_table(run):
    """The marks of the program; None without any."""
    tags = run.tags
    if not tags:
        return None
    rows = [[shown(tag.label)[:300], human.seconds_text(tag.t_s)] for tag in tags[:500]]
    more = len(tags) - len(rows)
    return Table("Tags", ["label", "at"], rows, 1, notes=[f"{more} more are left out." if more else ""])


def missing_table(run):
    """What was not measured, and remarks on what was; None without any."""
    remarks = [source for source in run.sources.remarks if source.provenance != "modelled"]
    if not remarks:
        return None
    rows = [[shown(source.name), "in part" if source.available else "no", shown(source.reason)] for source in remarks]
    return Table("What was not measured, and why", ["source", "measured", "reason"], rows, 3, (2,))


def overhead_table(run):
    """What observing cost, and what was lost."""
    info = run.info
    seconds = info.duration_s
    if not info.memory_bytes and not info.sampler_wall_s:
        return Table("Cost of observing", ["", ""], [["not known", "the file does not say"]], 2, (1,))
    per_cpu = f" ({info.sampler_cpu_s / seconds * 100:.2f} % of one CPU)" if seconds > 0 else ""
    samples = f"{info.samples:,} samples" + (f", {info.late_samples:,} late" if info.late_samples else ", none late")
    each = human.seconds_text(info.sampler_wall_s / info.samples) if info.samples else human.UNKNOWN
    dropped = [(value, word) for value, word in
               ((info.dropped_rows, "rows to sinks"), (info.dropped_tags, "tags"), (info.dropped_scopes, "scopes"),
                (info.dropped_threads, "threads"), (info.dropped_events, "scope instances"),
                (info.dropped_lines, "lines")) if value]
    rows = [["sampling", human.seconds_text(info.sampler_cpu_s) + " of CPU time" + per_cpu],
            ["one sample", each + " on average; " + samples],
            ["scopes", f"about {human.seconds_text(info.scopes_s)} in all threads together"],
            ["memory", human.bytes_text(info.memory_bytes) + ", fixed at start"],
            ["dropped", ", ".join(f"{value:,} {word}" for value, word in dropped) or "nothing"]]
    return Table("Cost of observing", ["", ""], rows, 2, (1,))


_UNITS = {"bytes": human.bytes_text, "ms": lambda value: human.seconds_text(value / 1000)}


def _fact(key, value):
    """Its name in words, and its text."""
    if isinstance(value, str):
        return key.replace("_", " "), shown(value)
    stem, _, unit = key.rpartition("_")
    if stem and unit in _UNITS:
        return stem.replace("_", " "), _UNITS[unit](value)
    if key == "domains":
        names = [name for name, bits in _abi.DOMAINS.items() if bits == value] or \
            [name for name, bits in _abi.DOMAINS.items() if bits & value == bits and not bits & bits - 1]
        return key, ", ".join(names)
    return key.replace("_", " "), f"{value:g}" if isinstance(value, float) else str(value)


def fact_tables(run):
    """What does not change in a run: of the run, the job, the machine and the settings."""
    titles = {"run": "Run", "job": "Job", "machine": "Machine", "settings": "Settings"}
    facts = run.facts
    found = []
    for group, title in titles.items():
        rows = [list(_fact(key, value)) for key, value in facts.get(group, {}).items()
                if value not in ("", None) and (key, value) not in (("flags", 0), ("pid", 0))]
        if rows:
            found.append(Table(title, ["", ""], rows, 2, (1,)))
    return found
