# SPDX-License-Identifier: MIT
"""A run as a notebook shows it: headline figures, small charts, phases, hot functions, and what was not measured."""
from . import html, human
from ._library import lib

# What stands in the tiles: figure of the headline, label, and how it is written.
_TILES = (
    ("wall_s", "wall time", human.seconds_text), ("cpu_s", "CPU time", human.seconds_text),
    ("rss_peak_bytes", "peak RSS", human.bytes_text), ("tree_rss_max_bytes", "RSS with children", human.bytes_text),
    ("read_bytes", "from storage", human.bytes_text), ("write_bytes", "to storage", human.bytes_text),
    ("energy_j", "energy", lambda value: human.prefixed(value, "J")),
    ("gco2eq", "CO2eq", lambda value: human.prefixed(value, "g")),
)

# Small charts: label, metric (of a tree that was not sampled, the process's), series, unit, what is added for a rate.
_CHARTS = (
    ("CPU", "tree.cpu.percent", "value", "%", ""), ("memory", "tree.mem.rss", "value", "B", ""),
    ("read calls", "tree.io.read_chars", "mean", "B", "/s"), ("write calls", "tree.io.write_chars", "mean", "B", "/s"),
)


def _note(text):
    return f"<div class='note'>{html.escape(text)}</div>"


def _tiles(run):
    headline = run.headline
    processes = run.summary.get("tree.processes")
    if processes is None or not processes.max > 1:
        del headline["tree_rss_max_bytes"]
    return html.tiles([(label, make(headline[key])) for key, label, make in _TILES
                       if headline.get(key, float("nan")) == headline.get(key)])


def _charts(run):
    times, summary, cells = run.times, run.summary, []
    for label, name, series, unit, per in _CHARTS:
        if name not in summary:
            name = name.replace("tree.", "proc.", 1)
        if name not in summary:
            continue
        top = html.escape(human.text_of(summary[name].max, unit, per))
        line = html.sparkline(times, run.series(name, series))
        cells.append(f'<div class="tile">{label} <span class="note">max {top}</span><br>{line}</div>')
    return f'<div class="tiles">{"".join(cells)}</div>' if len(times) > 1 else ""


def _energy_note(energy):
    """How the energy is known, in a line."""
    if energy is None or energy.tree_j != energy.tree_j:
        return ""
    modelled = f", {energy.modelled_share * 100:.0f} % of it by a model" if energy.modelled_share > 0 else ""
    return _note(f"energy: the program's share of {human.prefixed(energy.node_j, 'J')} of the machine{modelled}; "
                 f"CO2eq: {energy.place}, {energy.g_per_kwh:.0f} g/kWh") + (_note(energy.remark) if energy.remark else "")


def _functions(run):
    """Hot functions, folded away, for each kind of stacks that was sampled."""
    if lib.run_stack_count(run) == 0:
        return []
    from . import report_profile  # only here: most runs have no stacks
    return [html.details("h" + table.title[1:], html.table(table.headers, table.rows[:12]))
            for table in report_profile.function_tables(run).values()]


def head(run):
    """Title, headline figures and charts, without the element around them."""
    info = run.info
    state = f"{info.state}, {info.samples} samples" + (f", {info.label}" if info.label else "")
    return (f"<b>{html.escape(run.title)}</b> <span class='note'>{html.escape(state)}</span>" + _tiles(run) + _charts(run))


def page(run):
    """All of it."""
    remarks, parts = run.sources.remarks, [head(run)]
    if run.scopes:
        parts.append(html.table(*run.scopes.table()))
    parts.extend(_functions(run))
    parts.append(_energy_note(run.energy))
    parts.append(html.details(f"all {len(run.summary)} metrics", html.table(*run.summary.table())))
    if remarks:
        rows = [[source.name, source.reason] for source in remarks]
        parts.append(html.details(f"{len(remarks)} remarks on what was not measured",
                                  html.table(["source", "remark"], rows, 2)))
    return html.wrap("".join(parts))
