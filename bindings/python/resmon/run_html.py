# SPDX-License-Identifier: MIT
"""A run in a notebook: headline values, small charts, phases, hot functions, and remarks on missing values."""
from . import _abi, html, human, pages, views
from ._library import lib


def _note(text):
    return f"<div class='note'>{html.escape(text)}</div>"


def _tiles(part):
    return html.tiles([tile for tile in part.tiles if tile[1] != pages.UNKNOWN])


def _charts(run):
    times, summary, cells = run.times, run.summary, []
    for rows in views.by_label("spark", None):
        row = next((row for row in rows if row.metric in summary), None)
        if row is None:
            continue
        unit, slash, per = row.unit.partition("/")
        top = html.escape(human.text_of(summary[row.metric].max / row.divisor, unit, slash + per))
        line = html.sparkline(times, [value / row.divisor for value in run.series(row.metric, row.series)])
        cells.append(f'<div class="tile">{row.label} <span class="note">max {top}</span><br>{line}</div>')
    return f'<div class="tiles">{"".join(cells)}</div>' if len(times) > 1 else ""


def _functions(run):
    """Returns the hot functions, folded, for each kind of stacks that was sampled."""
    if lib.run_stack_count(run) == 0:
        return []
    tables = pages.page_of([run], _abi.PAGE_TABLES).runs[0].tables
    return [html.details("h" + table.title[1:], html.table(table.headers, table.rows[:12]))
            for table in tables if table.key.startswith("functions_")]


def head(run, part=None):
    """Returns title and headline values, without the element around them."""
    part = pages.page_of([run], _abi.PAGE_FIGURES).runs[0] if part is None else part
    info = run.info
    state = f"{run._outcome()}, {info.samples} samples" + (f", {info.label}" if info.label else "")
    return f"<b>{html.escape(run.title)}</b> <span class='note'>{html.escape(state)}</span>" + _tiles(part)


def small(run):
    """Returns the live values of a running monitor."""
    return head(run) + _charts(run)


def page(run):
    """Returns the whole page."""
    part = pages.page_of([run], _abi.PAGE_FIGURES).runs[0]
    remarks, parts = run.sources.remarks, [head(run, part), html.definitions(part.answers)]
    if run.scopes:
        parts.append(run._table("scopes", _abi.TABLE_HTML))
    parts.append(_charts(run))
    parts.extend(_functions(run))
    if run.energy is not None and run.energy.remark:
        parts.append(_note(run.energy.remark))
    parts.append(html.details(f"all {len(run.summary)} metrics", html.table(*run.summary.table())))
    if remarks:
        rows = [[source.name, source.reason] for source in remarks]
        parts.append(html.details(f"{len(remarks)} remarks on what was not measured",
                                  html.table(["source", "remark"], rows, 2)))
    return html.wrap("".join(parts))
