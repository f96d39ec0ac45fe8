# SPDX-License-Identifier: MIT
"""What a report says of stacks, performance counters and checkpoints, for HTML and PDF alike; as report_tables.py."""
import math
import os

from . import human, views
from .errors import NotFoundError
from .report_tables import Missing, Share, Table, or_missing, shown
from .stacks import self_text, total_text

MAX_FUNCTIONS, MAX_THREADS, MAX_CHECKPOINTS, MAX_COUNTED = 20, 64, 200, 100

# Kinds of stacks: what of which there are stacks, and how an amount of it is written.
KINDS = {"cpu": ("CPU time", human.seconds_text), "memory": ("growth of memory", human.bytes_text),
         "file": ("pages of files", human.bytes_text)}


def kinds_of(run):
    """The kinds of stacks that were sampled."""
    info = run.stack_info
    return [kind for kind in KINDS if info[kind].samples > 0]


# ---- stacks ---------------------------------------------------------------------------------------


def _period_text(kind, info):
    if not info.period:
        return ""
    each = human.seconds_text(info.period / 1e9) if kind == "cpu" else f"{info.period:,} page faults"
    return f", one each {each}"


_TOTALS = {"cpu": "that the process took", "memory": "by which RssAnon rose", "file": "by which RssFile and RssShmem rose"}


def samples_text(run, kind):
    """"1.59 s in 157 samples, one each 10.1 ms: 89.8 % of the 1.77 s that the process took."."""
    text, info = KINDS[kind][1], run.stack_info[kind]
    said = f"{text(info.weight)} in {info.samples:,} samples{_period_text(kind, info)}"
    if info.total > 0:
        share = "all" if kind != "cpu" and info.weight > info.total else f"{info.weight / info.total * 100:.1f} %"
        said += f": {share} of the {text(info.total)} {_TOTALS[kind]}"
    lost = f" {info.lost:,} samples were lost." if info.lost else ""
    return said + "." + lost + (f" {shown(info.reason)}." if info.reason else "")


def _functions_table(run, kind):
    what, text = KINDS[kind]
    functions = [one for one in run.functions(kind) if one.samples]
    rows = [[shown(one.name)[:200], self_text(one, kind), human.percent_text(one.self_share * 100),
             Share.of(total_text(one, kind), one.total_share, one.self_share), human.percent_text(one.total_share * 100),
             f"{one.samples:,}", shown(os.path.basename(one.file))] for one in functions[:MAX_FUNCTIONS]]
    left_out = len(functions) - len(rows)
    marks = "".join(row[column][0] for row in rows for column in (1, 3))
    notes = ["Self: in the function itself; total, and samples: with what it called. Bar: share of all samples, the dark "
             "part itself. " + samples_text(run, kind),
             "~ about: from few samples. " * ("~" in marks) + "< from so few that no more is known." * ("<" in marks),
             f"{left_out:,} functions that took less themselves are left out." if left_out else ""]
    return Table(f"Hot functions, by {what}", ["function", "self", "of all", "total", "of all", "samples", "file"], rows,
                 wide=(6,), notes=notes)


def function_tables(run):
    """What functions took, by kind; those kinds that were sampled."""
    return {kind: _functions_table(run, kind) for kind in kinds_of(run)}


def _why_untaken(kind, info):
    if info.samples or not info.available:
        return "" if info.samples else shown(info.reason)
    return f"no sample fell due{_period_text(kind, info)}" if kind != "file" else ""


def untaken_table(run):
    """Stacks that were asked for and not had, and why; None without any."""
    reasons = [(KINDS[kind][0], _why_untaken(kind, info)) for kind, info in run.stack_info.items()]
    rows = [[what, reason] for what, reason in reasons if reason]
    return Table("Stacks that were not taken", ["of", "reason"], rows, 2, (1,)) if rows else None


def _place(frame):
    where = f" {os.path.basename(frame.file)}:{frame.line}" if frame.file and frame.line else ""
    module = os.path.basename(frame.module) or "unknown"
    return shown((frame.function or f"{module}+{frame.module_offset:#x}") + where)[:80]


def _highest_text(peak):
    life = (f" Exactly, in the life of the process: {human.bytes_text(peak.life_rss_bytes)}."
            if peak.life_rss_bytes >= 0 else "")
    if peak.highest_rss_bytes > peak.rss_bytes * 1.001:
        more = (peak.highest_rss_bytes / peak.rss_bytes - 1) * 100
        return (f"Not the highest: {human.bytes_text(peak.highest_rss_bytes)} were seen "
                f"{human.seconds_text(peak.highest_t_s)} after the start, {human.percent_text(more)} more." + life)
    return (("The highest that was seen." if peak.highest_rss_bytes >= 0 else "") + life).strip()


def peak_table(run):
    """Where threads were when memory was high; None where that was not asked for."""
    stacks = run.peak_stacks
    if not stacks:
        return None
    rows = []
    for one in stacks[:MAX_THREADS]:
        places = [_place(frame) for frame in one.frames[:3]] + ["", "", ""]
        rows.append([shown(one.thread_name or one.thread_id), shown(one.scope) or human.UNKNOWN, *places[:3]])
    first, more = stacks[0], len(stacks) - len(rows)
    room = f", when the control group had {human.bytes_text(first.headroom_bytes)} left" if first.headroom_bytes >= 0 else ""
    notes = [f"RSS {human.bytes_text(first.rss_bytes)}, {human.seconds_text(first.t_s)} after the start{room}.",
             _highest_text(first),
             f"{more} more threads are left out." if more > 0 else ""]
    return Table("Threads at high memory", ["thread", "scope", "in", "called by", "called by"], rows, 5, notes=notes)


# ---- lines ----------------------------------------------------------------------------------------


def line_texts(run):
    """The tables by line, as (title, what it means, text): of checkpoints, then of what was sampled."""
    if not run.checkpoints and not len(run.stacks):
        return []
    try:
        lines = run.lines().split("\n")
    except NotFoundError:
        return []
    found = []
    head = ""
    for line in lines:
        if head or (line and not line.startswith(" ")):  # "TITLE (what it means,\n  and more)"
            head = f"{head} {line.strip()}".strip()
            if "(" not in head or head.endswith(")"):
                title, _, meaning = head.partition(" (")
                found.append((title, meaning[:1].upper() + meaning[1:-1], []))
                head = ""
        elif found:
            found[-1][2].append(shown(line[2:]).rstrip())
    return [(title, meaning, "\n".join(text).strip("\n")) for title, meaning, text in found if any(text)]


def checkpoint_table(run):
    """Lines with RESMON_LINE(), and what was measured up to each; None without any."""
    lines = [line for line in run.checkpoints if line.hits]
    if not lines:
        return None
    rows = [[shown(line.function)[:100], f"{shown(os.path.basename(line.file))}:{line.line}", f"{line.hits:,}",
             human.seconds_text(line.wall_s), human.seconds_text(line.wall_s / line.hits),
             or_missing(human.bytes_text, line.rss_bytes, "memory was not read")] for line in lines[:MAX_CHECKPOINTS]]
    more = len(lines) - len(rows)
    return Table("Checkpoints", ["function", "up to line", "hits", "time", "per hit", "growth of memory"], rows, 2,
                 notes=["Exact: measured from one RESMON_LINE() to the next.",
                        f"{more:,} more are left out." if more > 0 else ""])


# ---- performance counters -------------------------------------------------------------------------

# What a source of counters has, for those that gave nothing.
_SOURCES = {"perf_hardware": "cycles, instructions, cache, branches", "perf_software": "task-clock, switches, page faults",
            "perf_l2": "L2 bandwidth", "perf_l3": "L3 bandwidth", "perf_memory": "memory bandwidth",
            "perf_flops": "FLOP/s, vector ratio", "perf_events": "events that were named"}


def _counter_cells(statistics, reason):
    per = "/s" if statistics.is_counter else ""

    def cell(value, after):
        return or_missing(lambda known: human.text_of(known, statistics.unit, after), value, reason)
    total = cell(statistics.last, "") if statistics.is_counter else ""
    return [cell(statistics.mean, per), cell(statistics.p95, per), cell(statistics.max, per), total]


def counter_table(run):
    """Performance counters of the process tree, and figures derived from them; why some are absent.  None without."""
    columns = [column for column in run.columns if column.metric.startswith("perf.")]
    sources = [source for source in run.sources if source.name in _SOURCES]
    if not columns and not any(source.reason for source in sources):
        return None
    summary, rows = run.summary, []
    reasons = {source.name: shown(source.reason) for source in sources}
    for column in columns:
        reason = reasons.get(column.source) or "there was no reading of it"
        is_there = column.name in summary and summary[column.name].n > 0
        cells = _counter_cells(summary[column.name], reason) if is_there else [Missing.because(reason)] * 4
        rows.append([shown(column.name), *cells, views.help_of(column.metric) if is_there else reason])
    are_there = {column.source for column in columns}
    for source in sources:
        if not source.available and source.reason and source.name not in are_there:
            missing = Missing.because(source.reason)
            rows.append([_SOURCES[source.name], *[missing] * 4, "not counted: " + missing.reason])
    notes = [f"{name}: {reason}" for name, reason in reasons.items() if reason and name in are_there]
    return Table("Performance counters", ["", "mean", "p95", "max", "total", "what it is"], rows, 1, (5,), notes)


_VAGUE = "it may be off by more than itself"


def _is_too_vague(scope, name):
    """Counted, but at too few of the calls."""
    count = scope.counts.get(name, math.nan)
    return not math.isnan(count) and count.is_vague


def _ipc_cell(scope):
    if _is_too_vague(scope, "cycles") or _is_too_vague(scope, "instructions"):
        return Missing.because(_VAGUE)
    cycles, instructions = scope.counts.get("cycles", math.nan), scope.counts.get("instructions", math.nan)
    return or_missing(lambda value: f"{value:.2f}", instructions / cycles if cycles > 0 else math.nan, "not counted here")


def _count_cell(scope, counter):
    if _is_too_vague(scope, counter.name):
        return Missing.because(_VAGUE)
    text = or_missing(lambda value: human.text_of(value, counter.unit), scope.counts.get(counter.name, math.nan),
                      "not counted here")
    return "~" + text if scope.counter_provenance == "sampled" and text != human.UNKNOWN else text


def _scope_counter_rows(scopes, counters, has_ipc):
    rows = []
    for scope in scopes:
        cells = [_count_cell(scope, counter) for counter in counters]
        share = human.percent_text(scope.counter_calls / max(scope.calls, 1) * 100)
        rows.append(["\u2003" * scope.depth + shown(scope.name)[:200], *cells,
                     *([_ipc_cell(scope)] if has_ipc else []), share])
    return rows


def scope_counter_table(run):
    """What each scope counted, and what could not be counted; None where that was not asked for."""
    counters, scopes = run.counters, [scope for scope in run.scopes if scope.counter_calls > 0]
    if not counters:
        return None
    if not scopes:
        rows = [[shown(one.name), "no instance of a scope" if one.available else "no", shown(one.reason)]
                for one in counters]
        return Table("Counters of scopes", ["counter", "counted in", "remark"], rows, 2, (2,))
    there = [counter for counter in counters if counter.available]
    has_ipc = {"instructions", "cycles"} <= {counter.name for counter in there}
    rows = _scope_counter_rows(scopes[:MAX_COUNTED], there, has_ipc)
    notes = ["Of all calls, on the scope's own threads, with the scopes inside; counted: share of the calls." +
             " ~ about: not every call was counted, or counters took turns." *
             any(scope.counter_provenance == "sampled" for scope in scopes)]
    notes += [f"{shown(one.name)}{'' if one.available else ' is absent'}: {shown(one.reason)}"
              for one in counters if one.reason]
    notes += [f"{len(scopes) - len(rows):,} scopes are left out."] if len(rows) < len(scopes) else []
    headers = ["scope", *(shown(counter.name) for counter in there), *(["IPC"] if has_ipc else []), "counted"]
    return Table("Counters of scopes", headers, rows, 1, notes=notes)
