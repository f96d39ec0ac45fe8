# SPDX-License-Identifier: MIT
"""Pieces of HTML for notebooks and reports: tables and sparklines. All text from outside is escaped."""
import math

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})

# Colours that work on light and dark backgrounds.  ".resmon.resmon" outdoes JupyterLab, which aligns all cells right.
STYLE = """<style>
.resmon{font:13px/1.45 system-ui,sans-serif}
.resmon table{font:inherit;color:inherit;border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums}
.resmon th,.resmon td{padding:.15em .7em;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}
.resmon th{font-weight:600;opacity:.75}
.resmon.resmon .l{text-align:left;white-space:pre-wrap}
.resmon tbody th{font-weight:inherit;opacity:1}
.resmon .vh{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.resmon p{margin:.15em 0;font-size:.9em}
.resmon .l:first-child{white-space:pre-wrap;overflow-wrap:anywhere;min-width:12em;max-width:32em}
.resmon .tiles{display:flex;flex-wrap:wrap;gap:.6em;margin:.5em 0}
.resmon .tile{border:1px solid #8884;border-radius:6px;padding:.35em .7em;min-width:7em;max-width:15em}
.resmon .tile small{display:block;font-size:.85em;line-height:1.3;overflow-wrap:anywhere}
.resmon.resmon .answers td{border:0;padding:.05em .7em .05em 0;min-width:0}
.resmon.resmon .answers .w{text-align:left;white-space:normal}
.resmon .tile b{display:block;font-size:1.25em;font-weight:600}
.resmon .note{opacity:.7}
.resmon details{margin:.3em 0}
.resmon svg{vertical-align:middle}
</style>"""


def escape(value):
    """Escapes text for HTML."""
    return str(value).translate(_ESCAPES)


def table(headers, rows, left=1):
    """Returns a table; the first `left` columns are texts, the others numbers."""
    def line(cells, tag):
        return "<tr>" + "".join(f'<{tag} class="l">{escape(cell)}</{tag}>' if index < left else
                                f"<{tag}>{escape(cell)}</{tag}>" for index, cell in enumerate(cells)) + "</tr>"
    return f"<table><thead>{line(headers, 'th')}</thead><tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


def tiles(triples):
    """Returns tiles of headline values: (label, text, small print)."""
    return '<div class="tiles">' + "".join(
        f'<div class="tile">{escape(label)}<b>{escape(value)}</b><small class="note">{escape(small)}</small></div>'
        for label, value, small in triples) + "</div>"


def definitions(triples):
    """Returns a line for each (label, value, text)."""
    return '<table class="answers">' + "".join(
        f'<tr><td class="l note">{escape(label)}</td><td class="w"><b>{escape(value)}</b> {escape(text)}</td></tr>'
        for label, value, text in triples) + "</table>"


def details(summary, body):
    """Returns a part that is folded."""
    return f"<details><summary>{escape(summary)}</summary>{body}</details>"


def wrap(body):
    """Returns the outermost element, with the style."""
    return f'{STYLE}<div class="resmon">{body}</div>'


def sparkline(times, values, width=170, height=44):
    """Returns a line as SVG, with gaps for unknown values; "" for fewer than two points."""
    points = [(t, v) for t, v in zip(times, values) if v is not None and math.isfinite(v)]
    if len(points) < 2:
        return ""
    first, last = points[0][0], points[-1][0]
    low, high = min(0.0, min(v for _, v in points)), max(v for _, v in points)
    span_t, span_v = (last - first) or 1.0, (high - low) or 1.0

    def place(t, v):
        return f"{(t - first) / span_t * (width - 2) + 1:.1f},{height - 2 - (v - low) / span_v * (height - 4):.1f}"
    line = " ".join(place(t, v) for t, v in points)
    base = height - 2 + low / span_v * (height - 4)
    return (f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
            f'<polygon fill="#4c78a8" fill-opacity=".18" points="1,{base:.1f} {line} {width - 1},{base:.1f}"/>'
            f'<polyline fill="none" stroke="#4c78a8" stroke-width="1.5" points="{line}"/></svg>')
