# SPDX-License-Identifier: MIT
"""Reports as one HTML file: tables as HTML, the numbers of the charts as JSON, and the scripts that draw them.

Nothing from a run becomes markup or script: texts are escaped, JSON has no "<", and the policy of the page allows
only the scripts that are in it, known by their hashes, and no request at all.
"""
import base64
import hashlib
import json
import math
import pathlib
import zlib

from . import charts, flame, html, human
from . import report_profile as profile
from . import report_tables as tables
from ._library import version
from .report_tables import Missing, Share, shown

_HERE = pathlib.Path(__file__).resolve().parent
MAX_TAGS, MAX_EVENTS = 200, 2000
_FOLDED_FROM = 5  # runs
_ROWS = 12800     # of all runs together; a run has at most 800 of them, and at least 60
_BOXES = 16000    # the same, of flame graphs; at most 4000 each, and at least 200
_LABELLED = 0.02  # a box that is narrower has no room for its name


def escape(value):
    """Text from outside as HTML."""
    return html.escape(shown(value))


# ---- tables ---------------------------------------------------------------------------------------


def _cell(cell, index, table, tag="td"):
    kind = "w" if index in table.wide else "l" if index < table.left else ""
    opening = f'<{tag}{" scope=row" if tag == "th" else ""}{f" class={kind}" if kind else ""}'
    if isinstance(cell, Missing):
        return (f'{opening} title="{escape(cell.reason)}"><span aria-hidden=true>{cell}</span>'
                f'<span class=vh>not known: {escape(cell.reason)}</span></{tag}>')
    if isinstance(cell, Share):
        return (f'{opening}><span class=share style="--s:{cell.share:.4f};--i:{cell.inner:.4f}">'
                f'{escape(cell)}</span></{tag}>')
    return f"{opening}>{escape(cell)}</{tag}>"


def _table(table, heading="h3", has_sum=False, links=0):
    """A table with its title and notes, in a box that scrolls rather than the page.

    ``has_sum``: the last row is one; ``links``: as many rows lead to the sections of runs.
    """
    parts = [f"<{heading}>{escape(table.title)}</{heading}>" if heading else ""]
    parts.append(f'<div class=scroll tabindex=0 role=region aria-label="{escape(table.title)}"><table>')
    if any(table.headers):
        kinds = [" class=l" if index < table.left or index in table.wide else "" for index in range(len(table.headers))]
        cells = "".join(f"<th scope=col{kind}>{escape(header)}</th>" for kind, header in zip(kinds, table.headers))
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for number, row in enumerate(table.rows):
        last = " class=sum" if has_sum and number == len(table.rows) - 1 else ""
        cells = [_cell(cell, index, table, "th" if index == 0 else "td") for index, cell in enumerate(row)]
        if number < links:
            cells[0] = cells[0].replace(">", f"><a href=#run{number}>", 1).replace("</th>", "</a></th>")
        parts.append(f"<tr{last}>{''.join(cells)}</tr>")
    parts.append("</tbody></table></div>")
    parts.extend(f"<p class=note>{escape(note)}</p>" for note in table.notes)
    return "".join(parts)


def _tiles(tiles):
    return "<dl class=tiles>" + "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
        f'{f"<dd class=small>{escape(small)}</dd>" if small else ""}</div>' for label, value, small in tiles) + "</dl>"


def _answers(run):
    """What the tiles do not say, in a line each."""
    rows = "".join(f"<div><dt>{escape(label)}</dt><dd><b>{escape(value)}</b> {escape(text)}</dd></div>"
                   for label, value, text in tables.answers(run))
    return f"<dl class=answers>{rows}</dl>" if rows else ""


# ---- charts ---------------------------------------------------------------------------------------


def _rounded(values, digits):
    """Numbers as short as they may be; None for what is not known."""
    return [None if v is None or v != v else 0 if v == 0 else float(f"{v:.{digits}g}") for v in values]


class _Numbers:
    """The numbers of a run for JSON: lines by key, and lists of times that several of them share."""

    def __init__(self, seconds):
        self.times, self._known, self._scale = [], {}, max(seconds, 1e-6) / 1e5
        self.lines = {}

    def add(self, line):
        places = max(0, min(9, -math.floor(math.log10(self._scale))))
        times = tuple(round(time, places) for time in line.times)
        if times not in self._known:
            self._known[times] = len(self.times)
            self.times.append(times)
        packed = [self._known[times], _rounded(line.mean, 4)]
        if line.low is not None:
            packed += [_rounded(line.low, 3), _rounded(line.high, 3)]
        self.lines[line.key] = packed


def _alternative(chart):
    """What the chart shows, for who does not see it."""
    return f"{chart.title}. " + ". ".join(f"{line.label}: {line.said}" for line in chart.lines[:40] if line.said)


def _figure(chart, place):
    """A chart's frame: title, legend with what is known of the whole run, and the place where it is drawn.

    Lines are drawn in their order, the last on top, and named in the order of their colours: the program first.
    """
    keys = "".join(
        f'<button type=button class="key {_colour_class(line)}" aria-pressed=true data-line={index}><i></i>'
        f"<bdi>{escape(line.label)}</bdi><span class=now>{escape(line.said)}</span></button>"
        for index, line in sorted(enumerate(chart.lines), key=lambda one: (one[1].colour == charts.LIMIT, one[1].colour)))
    note = f"<small>{escape(chart.note)}</small>" if chart.note else ""
    body = (f'<div class=plot id="{place}" role=img aria-label="{escape(_alternative(chart))}"></div>'
            f'<div class="keys{" many" if len(chart.lines) > 8 else ""}">{keys}</div>' if chart.has_points else
            f"<p class=empty>{escape(chart.missing or 'Not measured.')}</p>")
    return (f'<figure><figcaption><b>{escape(chart.title)}</b> {note}<span class=at aria-hidden=true></span>'
            f"</figcaption>{body}</figure>")


def _colour_class(line):
    return ("k-limit" if line.colour == charts.LIMIT else f"k{line.colour % 8}") + (" dash" if line.is_level else "")


def _packed_chart(chart, place):
    lines = [[line.key, "L" if line.colour == charts.LIMIT else line.colour % 8, 1 if line.is_level else 0]
             for line in chart.lines]
    return {"at": place, "unit": chart.unit, "lines": lines}


def _packed_events(run):
    """The longest scope instances: names, threads, and [name, thread, depth, start, duration]."""
    events = sorted(run.events, key=lambda event: -event.duration_s)
    left_out = max(len(events) - MAX_EVENTS, 0)
    names, threads, rows = {}, {}, []
    for event in sorted(events[:MAX_EVENTS], key=lambda event: (event.start_s, event.depth)):
        thread = shown(event.thread_name or "thread") + f" ({event.thread_id})"
        rows.append([names.setdefault(shown(event.name), len(names)), threads.setdefault(thread, len(threads)),
                     event.depth, round(event.start_s, 6), round(event.duration_s, 6)])
    return {"names": list(names), "threads": list(threads), "rows": rows}, left_out


def _timeline_figure(run, packed, left_out, place):
    lanes = {}
    for _, thread, depth, _, _ in packed["rows"]:
        lanes[thread] = max(lanes.get(thread, 0), depth + 1)
    note = "each instance of a scope, by thread"
    note += f"; the {MAX_EVENTS:,} longest, {left_out:,} are left out" if left_out else ""
    text = f"Scopes over time: {len(packed['rows'])} instances of {len(packed['names'])} scopes in " \
           f"{len(packed['threads'])} threads; their sums are in the table of scopes"
    return (f"<figure class=wide><figcaption><b>Scopes over time</b> <small>{escape(note)}</small>"
            f'<span class=at aria-hidden=true></span></figcaption><div class="plot lanes" id="{place}" role=img '
            f'aria-label="{escape(text)}"></div></figure>')


# ---- stacks ---------------------------------------------------------------------------------------

_SHADES = {flame.SCOPE: ("fs",), flame.PROGRAM: ("fp0", "fp1", "fp2"), flame.LIBRARY: ("fl0", "fl1", "fl2"),
           flame.UNNAMED: ("fu",), flame.ALL: ("fa",)}
_KEYS = ((flame.PROGRAM, "program"), (flame.LIBRARY, "libraries"), (flame.UNNAMED, "without symbols"),
         (flame.SCOPE, "scopes"))


def _box(box, text):
    name = shown(box.name)
    shades = _SHADES[box.kind]
    shade = shades[zlib.crc32(name.encode("utf-8")) % len(shades)]
    title = f"{escape(name[:300])}\n{escape(text(box.weight))}, {box.share * 100:.1f} %, {box.samples:,} samples"
    label = escape(name[:120]) if box.share >= _LABELLED else ""
    return (f'<b class={shade} style="left:{box.start * 100:.3f}%;width:{box.share * 100:.3f}%" '
            f'title="{title}">{label}</b>')


def _flame_figure(run, kind, most):
    """A flame graph of boxes that need no script; with one, a click makes a box as wide as the page."""
    what, text = profile.KINDS[kind]
    boxes, rows = flame.boxes_of(run, kind, most), []
    if not boxes:
        return ""
    for box in boxes:
        if box.depth == len(rows):
            rows.append([])
        rows[box.depth].append(_box(box, text))
    said = f"Flame graph of {what}: {len(boxes):,} boxes, {len(rows) - 1} deep; the table of hot functions has the sums"
    lines, there = "".join(f"<div>{''.join(row)}</div>" for row in rows), {box.kind for box in boxes}
    keys = "".join(f"<i class={_SHADES[one][0]}></i>{name}" for one, name in _KEYS if one in there)
    return (f"<figure><figcaption><b>Flame graph: {escape(what)}</b> <small>as wide as its share; what a function called is "
            f"below it <span class=kinds>{keys}</span></small></figcaption>"
            f'<div class=flame role=img tabindex=0 aria-label="{escape(said)}">{lines}</div></figure>')


def _line_table(title, meaning, text):
    lines = "\n".join(map(escape, text.split("\n")))
    return (f"<h3>{escape(title)}</h3><pre class=scroll tabindex=0 role=region aria-label=\"{escape(title)}\">{lines}</pre>"
            + (f"<p class=note>{escape(meaning)}</p>" if meaning else ""))


def _stack_parts(run, most):
    """What there is of stacks and checkpoints: functions and a flame graph for each kind, lines, the peak."""
    parts = []
    for kind, table in profile.function_tables(run).items():
        parts += [_table(table), _flame_figure(run, kind, most)]
    parts.extend(_line_table(*text) for text in profile.line_texts(run))
    parts.extend(_table(table) for table in (profile.peak_table(run), profile.untaken_table(run)) if table)
    return parts


# ---- sections -------------------------------------------------------------------------------------


def _meta(run):
    info, facts, outcome = run.info, run.facts, run._outcome()
    state = info.state if outcome == info.state else "interrupted"
    parts = [f"<bdi>{escape(tables.host_of(run))}</bdi>", escape(tables.time_text(run)),
             escape(human.seconds_text(info.duration_s)),
             f'<span class="state {escape(state)}"><bdi>{escape(outcome)}</bdi></span>']
    job = facts.get("job", {})
    if job.get("id"):
        parts.insert(1, f"job {escape(job['id'])}")
    if info.label:
        parts.append(f"<bdi>{escape(info.label)}</bdi>")
    return f"<p class=meta>{' <span aria-hidden=true>·</span> '.join(parts)}</p>"


def _tables_of(*found):
    return [_table(table) for table in found if table]


def _run_tables(run, boxes):
    """What the run did, as tables behind the charts; those that it has."""
    return [*_tables_of(tables.scope_name_table(run), profile.scope_counter_table(run)), *_stack_parts(run, boxes),
            *_tables_of(profile.counter_table(run), tables.energy_table(run), tables.tag_table(run))]


def _run_body(run, reader, number, packed, boxes, is_only=False):
    """The parts of a run, and its numbers into `packed`."""
    numbers, drawn, figures = _Numbers(run.info.duration_s), [], []
    for chart in reader.charts():
        place = f"c{number}-{chart.key}"
        figures.append(_figure(chart, place))
        if chart.has_points:
            for line in chart.lines:
                numbers.add(line)
            drawn.append(_packed_chart(chart, place))
    events = None
    if run.events:
        events, left_out = _packed_events(run)
        figures.append(_timeline_figure(run, events, left_out, f"c{number}-scopes"))
    times = run.times
    packed.append({"seconds": max(run.info.duration_s, times[-1] if times else 0.0),
                   "start": run.info.start_realtime_ns / 1e9, "times": numbers.times, "lines": numbers.lines,
                   "tags": [[round(tag.t_s, 6), shown(tag.label)[:120]] for tag in run.tags[:MAX_TAGS]],
                   "charts": drawn, "events": events and {"at": f"c{number}-scopes", **events}})
    quiet = f"<p class=note>Measured, and nothing throughout: {escape(', '.join(reader.quiet))}.</p>" if reader.quiet else ""
    parts = [*_tables_of(tables.scope_table(run)), f'<div class=charts data-run={number}>{"".join(figures)}</div>', quiet]
    parts.extend(_run_tables(run, boxes))
    if is_only:
        parts.extend(f"<details><summary>Node figures</summary>{_table(table, '')}</details>"
                     for table in tables.node_tables([run], ["value"], [reader]))
    missing = tables.missing_table(run)
    parts.append(_table(missing) if missing else "<h3>What was not measured, and why</h3><p class=note>"
                 "Nothing that was asked for is missing, or this file does not say.</p>")
    parts.append('<div class=facts>' + "".join(f"<section>{_table(table)}</section>" for table in
                                               (tables.overhead_table(run), *tables.fact_tables(run))) + "</div>")
    return "".join(parts)


def _run_section(run, label, reader, number, packed, count):
    boxes = min(max(_BOXES // count, 200), 4000)
    body = _meta(run) + _tiles(tables.tiles(run, reader)) + _answers(run) + _run_body(run, reader, number, packed, boxes)
    is_open = "" if count >= _FOLDED_FROM else " open"
    return (f"<details class=run id=run{number}{is_open}><summary><h2><bdi>{escape(label)}</bdi></h2></summary>"
            f"{body}</details>")


def _combined(runs, labels, readers, offsets, limit, packed):
    """What compares several runs; its charts go into `packed`."""
    are_nodes = tables.are_nodes(runs)
    figures, drawn, numbers = [], [], [_Numbers(run.info.duration_s) for run in runs]
    for chart in charts.combined_charts(runs, labels, limit):
        place = f"c-{chart.key}"
        figures.append(_figure(chart, place))
        packed_chart = {"at": place, "unit": chart.unit, "lines": []}
        for line in chart.lines:
            packed_chart["lines"].append([line.key, line.colour % 8, 0, chart.key])
            number = line.key
            line.key = chart.key
            numbers[number].add(line)
        drawn.append(packed_chart)
    packed["charts"] = drawn
    packed["runs"] = [{"times": one.times, "lines": one.lines} for one in numbers]
    packed["offsets"] = offsets
    aligned = ('<div class=align role=group aria-label="Time of the charts"><button type=button aria-pressed=false '
               "data-align=start>from the start of each</button><button type=button aria-pressed=true "
               "data-align=clock>by the clock</button></div>") if offsets and max(offsets) > 0 else ""
    parts = [_tiles(tables.combined_tiles(runs, are_nodes)), "<div class=bar><h2>All together</h2>", aligned, "</div>",
             _table(tables.runs_table(runs, labels, readers, are_nodes), "h3", are_nodes, len(runs)),
             *_tables_of(tables.scope_runs_table(runs, labels)), f"<div class=charts data-run=all>{''.join(figures)}</div>"]
    parts.extend(_table(table, "h2") for table in tables.node_tables(runs, labels, readers))
    return "".join(parts)


def _json(value):
    """JSON that is safe within a script element: ASCII, without "<"."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _script(text):
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"<script>{text}</script>", f"'sha256-{digest}'"


def page(runs, title):
    """The whole file, as text."""
    limit = min(max(_ROWS // len(runs), 60), 800)
    labels = tables.labels_of(runs)
    readers = [charts.Reader(run, limit) for run in runs]
    packed = {"runs": [], "labels": labels}
    if len(runs) == 1:
        head = _meta(runs[0]) + _tiles(tables.tiles(runs[0], readers[0])) + _answers(runs[0])
        body = _run_body(runs[0], readers[0], 0, packed["runs"], 4000, True)
    else:
        offsets, all_together = tables.offsets_of(runs), {}
        head = f"<p class=meta>{escape(tables.runs_text(runs))}</p>"
        body = _combined(runs, labels, readers, offsets, limit, all_together)
        body += "<h2>One by one</h2>" + "".join(
            _run_section(run, label, reader, number, packed["runs"], len(runs))
            for number, (run, label, reader) in enumerate(zip(runs, labels, readers)))
        packed["all"] = all_together
    uplot, uplot_hash = _script((_HERE / "vendor/uplot/uPlot.iife.min.js").read_text("utf-8"))
    drawing, drawing_hash = _script((_HERE / "report.js").read_text("utf-8"))
    style = (_HERE / "vendor/uplot/uPlot.min.css").read_text("utf-8") + (_HERE / "report.css").read_text("utf-8")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {uplot_hash} {drawing_hash}"
    return f"""<!DOCTYPE html>
<html lang=en>
<head>
<meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="{policy}">
<meta name=viewport content="width=device-width, initial-scale=1">
<meta name=color-scheme content="light dark">
<meta name=generator content="resmon {escape(version)}">
<title>{escape(title)}</title>
<link rel=icon href="data:,">
<style>{style}</style>
</head>
<body>
<header><h1><bdi>{escape(title)}</bdi></h1>{head}</header>
<main>
<noscript><p class=empty>The charts are drawn by a script, and scripts are switched off here.
The tables are complete.</p></noscript>
{body}
</main>
<footer>resmon {escape(version)}. In the charts: drag to zoom, double click to see all, click a name to hide its line.
Charts by uPlot, copyright Leon Sorokin, MIT licence.</footer>
<script type=application/json id=resmon-data>{_json(packed)}</script>
{uplot}
{drawing}
</body>
</html>
"""
