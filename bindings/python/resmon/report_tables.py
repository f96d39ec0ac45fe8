# SPDX-License-Identifier: MIT
"""What a report says in words and tables, for HTML and PDF alike: texts, nothing of how they look.

Texts from a run are shown as they are, but for characters that would act instead of being seen.
"""
import math
import re

from . import human, views
from .options import names_of
from .records import name_of_facts
from .results import brief_columns, scope_marks

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
    return human.text_of(value, "J")


def grams(value):
    """"63 ug", "1.2 kg"; of CO2eq."""
    return human.text_of(value, "g")


def kilowatt_hours(value):
    """"23.5 mWh"."""
    return human.text_of(value * 1000, "Wh")


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
    return name_of_facts(run.facts)


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
        was_asked = not isinstance(domains, int) or domains & names_of("domains")["energy"]
        return "nothing is known of the energy" if was_asked else "energy was not asked for"
    return energy.remark or "; ".join(part.method for part in energy.parts.values() if part.method) or "not known"


# The figures in front: of the headline, what they are called, their text, and the row of the brief report that says more.
FIGURES = (
    ("wall_s", "wall time", human.seconds_text, ""),
    ("cpu_s", "CPU time", human.seconds_text, "CPU"),
    ("rss_peak_bytes", "peak RSS", human.bytes_text, "memory"),
    ("read_chars", "read", human.bytes_text, "read"),
    ("write_chars", "written", human.bytes_text, "written"),
    ("energy_j", "energy", joules, "energy"),
    ("gco2eq", "CO2eq", grams, ""),
)

# What the tiles do not say, in the brief report's order.
_ANSWERS = ("GPU", "limit", "slowest", "hot", "grown", "note", "missing", "cost")


def _figure_cells(run, reader):
    headline, cells = run.headline, []
    for key, _, text, _ in FIGURES:
        columns = views.metrics("headline", key)
        reason = reader.why(columns) if columns else _energy_reason(run)
        cells.append(or_missing(text, headline[key], reason))
    return cells


def tile_notes(run):
    """Small print under the figures, by key: the first clauses of the brief report's rows."""
    rows = {label: [shown(clause) for clause in clauses] for label, _, *clauses in run._rows()}
    notes = {key: "; ".join(rows.get(row, ())[:2]).replace(f"{label}, ", "", 1) for key, label, _, row in FIGURES if row}
    energy = run.energy
    if energy and _known(energy.tree_j):
        notes["energy_j"] = f"{kilowatt_hours(energy.tree_kwh)}; {rows.get('energy', ('',))[0]}"
        notes["gco2eq"] = f"{energy.g_per_kwh:.0f} g/kWh, {shown(energy.place) or energy.basis}"
    return notes


def tiles(run, reader):
    """Headline figures: (label, text, small print)."""
    notes = tile_notes(run)
    found = []
    for (key, label, _, _), cell in zip(FIGURES, _figure_cells(run, reader)):
        found.append((label, cell, cell.reason if isinstance(cell, Missing) else notes.get(key, "")))
    return found


def answers(run):
    """What is asked next, of the brief report: which phase is slow, where memory went, what is wrong with the figures.  Rows
    of (label, value, text)."""
    return [(label, shown(value), shown("; ".join(clauses))) for label, value, *clauses in run._rows() if label in _ANSWERS]


def _total(values):
    return sum(values) if all(_known(value) for value in values) else math.nan


def combined_tiles(runs, is_job):
    """Headline figures of several runs: sums where they are nodes of one job, else how far they lie apart."""
    headlines, found = [run.headline for run in runs], [(words_of(runs), str(len(runs)), "")]
    for key, label, text, _ in FIGURES:
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
    headers = [word_of(runs), "start (UTC)", "state", *(label for _, label, _, _ in FIGURES)]
    rows = []
    for run, label, reader in zip(runs, labels, readers):
        start = time_text(run)
        rows.append([label, start if isinstance(start, Missing) else start[:-4], shown(run._outcome()),
                     *_figure_cells(run, reader)])
    if is_job:
        headlines = [run.headline for run in runs]
        cells = []
        for key, _, text, _ in FIGURES:
            values = [headline[key] for headline in headlines]
            value = (max((v for v in values if _known(v)), default=math.nan) if key in ("wall_s", "rss_peak_bytes")
                     else _total(values))
            cells.append(or_missing(text, value, "not known of all of them"))
        rows.append(["all", "", "", *cells])
    return Table(words_of(runs).capitalize(), headers, rows, 3, notes=[
        "all: the longest time and the highest peak; sums of the others" if is_job else ""])


# What the unit of a figure of the node is for people: another unit, and a factor to that.
_PEOPLES_UNITS = {"h": ("s", 3600), "MiB": ("B", 1048576)}


def _node_cell(key, value, reader):
    rows = [row for row in views.rows("node") if row.label == key]
    unit, factor = _PEOPLES_UNITS.get(rows[0].unit, (rows[0].unit, 1))
    return or_missing(lambda known: human.text_of(known * factor, unit), value,
                      reader.why([row.metric for row in rows]) if not _known(value) else "")


def node_tables(runs, labels, readers):
    """The 18 figures of each node: a column for each of few nodes, else a row, by groups of figures."""
    figures = [run.figures for run in runs]
    keys = list(figures[0])
    names = {row.label: row.group for row in views.rows("node")}
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


def _table_of_scopes(run, scopes, title, note=""):
    wall = [scope.wall_s + scope.open_s for scope in scopes]
    chosen = range(len(scopes))
    if len(scopes) > MAX_SCOPES:
        # A scope takes no longer than the one that it is in, but for what runs beside that: by the longest of all that
        # is inside, so that those that are left hang together.
        longest = list(wall)
        for index in reversed(chosen):
            if scopes[index].parent >= 0:
                longest[scopes[index].parent] = max(longest[scopes[index].parent], longest[index])
        chosen = sorted(sorted(chosen, key=lambda i: (-longest[i], i))[:MAX_SCOPES])
    whole = max(max(wall), run.info.duration_s, 1e-9)
    columns = [(name, text) for name, text in brief_columns(scopes, "longest") if any(text(scope) != human.UNKNOWN for scope in scopes)]
    rows = []
    for index in chosen:
        scope, cells = scopes[index], []
        for name, text in columns:
            cell = text(scope)
            cells.append(Share.of(cell, wall[index] / whole, scope.self_s / whole) if name == "wall" else
                         Missing.because("not metered") if cell == human.UNKNOWN else cell)
        rows.append(["\u2003" * scope.depth + shown(scope.name)[:200] + scope_marks(scope), *cells])
    left_out = len(scopes) - len(rows)
    marks = "".join(cell[0] for row in rows for cell in row[1:] if cell[:1] in ("~", ">"))
    notes = ["Time is summed over calls and threads. Bar: share of the run, the dark part outside of scopes within. "
             + note,
             "~ about: not every call was metered, or it lies between two samples. " * ("~" in marks) +
             ">= at least." * (">" in marks),
             "|| beside the scope above, on other threads or in tasks: its time is no part of that one's." *
             any(scope.concurrent_s > 0 for scope in scopes),
             f"{left_out:,} scopes that took less time are left out." if left_out else ""]
    return Table(title, ["scope", *(name for name, _ in columns)], rows, 1, notes=notes)


def scope_table(run):
    """The tree of scopes with a bar for the share of the time; None without scopes."""
    return _table_of_scopes(run, run.scopes, "Scopes") if run.scopes else None


def scope_name_table(run):
    """The scopes by name, where some name stands at several places of the tree; else None."""
    names = run.scopes_by_name
    if len(names) == len(run.scopes):
        return None
    return _table_of_scopes(run, names, "Scopes by name",
                            "What is inside of another scope of its name counts once, but for self.")


_SIDE_BY_SIDE = 6  # runs; of more, the least, the middle and the most


class _Merged:
    """A scope of several runs: that of each, or None, and those inside."""

    def __init__(self, name, depth, count):
        self.name, self.depth, self.scopes, self.inside = name, depth, [None] * count, {}


def _merged(runs):
    """The scopes of all runs by their paths, in the order of the tree."""
    root, order = _Merged("", -1, 0), []
    for number, run in enumerate(runs):
        nodes = []
        for scope in run.scopes:
            parent = nodes[scope.parent] if scope.parent >= 0 else root
            node = parent.inside.get(scope.name)
            if node is None:
                node = parent.inside[scope.name] = _Merged(scope.name, parent.depth + 1, len(runs))
            node.scopes[number] = scope
            nodes.append(node)
    waiting = list(reversed(root.inside.values()))
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(order[-1].inside.values()))
    return order


def scope_runs_table(runs, labels):
    """Scope by scope, what the runs took; None where not two of them have scopes."""
    if sum(bool(run.scopes) for run in runs) < 2:
        return None
    rows, is_pair = [], len(runs) == 2
    few = len(runs) <= _SIDE_BY_SIDE
    known = _merged(runs)
    for node in known[:MAX_SCOPES]:
        scopes = node.scopes
        walls = [scope.wall_s + scope.open_s if scope is not None else math.nan for scope in scopes]
        cells = [_cell_of(human.seconds_text, wall) for wall in walls] if few else _spread(walls, labels)
        if is_pair:
            cells += [_change(*walls), *_pair(scopes, "rss_peak_bytes", human.bytes_text), *_pair(scopes, "energy_j", joules)]
        rows.append(["\u2003" * node.depth + shown(node.name)[:200], *cells])
    headers = ["scope", *(f"wall, {label}" for label in labels)] if few else ["scope", "least wall", "median", "most", "of"]
    if is_pair:
        headers += ["change", *(f"{what}, {label}" for what in ("peak RSS", "energy") for label in labels)]
    kept = [i for i in range(len(headers)) if i == 0 or any(not isinstance(row[i], Missing) for row in rows)]
    left_out = len(known) - len(rows)
    return Table("Scopes of all", [headers[i] for i in kept], [[row[i] for i in kept] for row in rows], 1, notes=[
        "Change: of the second against the first; one run of each is no proof." if is_pair else "",
        f"{left_out:,} more scopes are left out." if left_out else ""])


def _cell_of(text, value):
    return or_missing(text, value, "this run has no such scope, or it was not metered")


def _pair(scopes, name, text):
    return [_cell_of(text, getattr(scope, name) if scope is not None else math.nan) for scope in scopes]


def _change(first, second):
    if not (_known(first) and _known(second) and first > 0):
        return Missing.because("one of them has no such scope")
    return f"{(second / first - 1) * 100:+.1f} %"


def _spread(walls, labels):
    """Least, median and most, and of which run."""
    known = sorted((wall, label) for wall, label in zip(walls, labels) if _known(wall))
    if not known:
        return [Missing.because("of none of them is this known")] * 4
    return [*(human.seconds_text(wall) for wall in (known[0][0], known[len(known) // 2][0], known[-1][0])), known[-1][1]]


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
            ("all", energy.provenance, joules, energy.node_j, energy.tree_j,
             "; ".join(filter(None, (by_model, f"{joules(energy.rest_j)} are others' and nobody's (idling)"
                                     if _known(energy.rest_j) else "")))),
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
    remarks = [source for source in run.sources.remarks if source.provenance not in ("modelled", "shared")]
    if not remarks:
        return None
    rows = [[shown(source.name), "in part" if source.available else "no", shown(source.reason)] for source in remarks]
    return Table("What was not measured, and why", ["source", "measured", "reason"], rows, 3, (2,))


def _own_rss(info):
    """How much of the process's memory, and of its peaks, is the library's."""
    if not math.isfinite(info.rss_bytes):
        return ""
    more = (f", and at most {human.bytes_text(info.work_rss_bytes)} more in peaks"
            if math.isfinite(info.work_rss_bytes) and info.work_rss_bytes > 0 else "")
    return f"; {human.bytes_text(info.rss_bytes)} of the process's RSS{more}"


def overhead_table(run):
    """What observing cost, and what was lost."""
    info = run.info
    seconds = info.duration_s
    if not info.memory_bytes and not info.sampler_wall_s:
        return Table("Cost of observing", ["", ""], [["not known", "the file does not say"]], 2, (1,))
    per_cpu = f" ({info.library_cpu_s / seconds * 100:.2f} % of one CPU)" if seconds > 0 else ""
    parts = ", ".join(f"{what} {human.seconds_text(value)}" for what, value in
                      (("sampling", info.sampler_cpu_s), ("delivery", info.delivery_cpu_s), ("GPUs", info.gpus_cpu_s),
                       ("stacks", info.stacks_cpu_s), ("handlers of stacks", info.handlers_s)) if value)
    samples = f"{info.samples:,} samples" + (f", {info.late_samples:,} late" if info.late_samples else ", none late")
    if info.skipped_samples:
        samples += f", {info.skipped_samples:,} left out to stay below max_overhead"
    each = human.seconds_text(info.sampler_cpu_s / info.samples) if info.samples else human.UNKNOWN
    dropped = [(value, word) for value, word in
               ((info.dropped_rows, "rows to sinks"), (info.dropped_tags, "tags"), (info.dropped_scopes, "scopes"),
                (info.dropped_threads, "threads"), (info.dropped_events, "scope instances"),
                (info.dropped_lines, "lines")) if value]
    rows = [["threads", human.seconds_text(info.library_cpu_s) + " of CPU time" + per_cpu + (parts and ": " + parts)],
            ["one sample", each + " of CPU time on average; " + samples],
            ["scopes", f"about {human.seconds_text(info.scopes_s)} in all threads together"],
            ["memory", human.bytes_text(info.memory_bytes) + ", fixed at start" + _own_rss(info)],
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
        names = [name for name, bits in names_of("domains").items() if bits == value] or \
            [name for name, bits in names_of("domains").items() if bits & value == bits and not bits & bits - 1]
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
