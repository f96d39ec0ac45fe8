# SPDX-License-Identifier: MIT
"""The dump of reseng.monitor.ResourceMonitor: {"tags": [[epoch, label], ...], "data": "<CSV>"}.

The CSV is what pandas' DataFrame.to_csv() makes of the index "elapsed" and the columns below: an
empty cell is not known.  One process; read_ and write_ are bytes per second.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import FormatError
from . import checks
from .checks import Number, is_finite, shown
from .field import COUNTER, GAUGE, INTERVAL, RATE, Field, Figures, figures_of
from .run_document import Read, RunTable, field_of_run, make_run, restated_of

SHAPE = "reseng"

_RATES = (
    "rates are over a nominal interval that the file does not give away: they, and growth, which "
    "is rate times time, may be some percent too large"
)


def _rate(name: str, metric: str) -> Field:
    return Field(name, metric, "B", RATE, "process", is_first_void=True, part="io", remark=_RATES)


# In the order of the file.  Its first row is over no time: neither shares nor rates are figures.
FIELDS = (
    Field("cpu", "proc.cpu.percent", "%", INTERVAL, "process", is_first_void=True),
    Field("memory", "proc.mem.rss", "B", GAUGE, "process"),
    _rate("read_bytes", "proc.io.read_bytes"),
    _rate("read_chars", "proc.io.read_chars"),
    _rate("write_bytes", "proc.io.write_bytes"),
    _rate("write_chars", "proc.io.write_chars"),
)

HEADER = ["elapsed", "time"] + [field.name for field in FIELDS]

_INTERVAL = "reseng.interval_s"  # in the settings: the nominal one, where the file gives it away


def is_shape(document: Any) -> bool:
    return isinstance(document, dict) and {"tags", "data"} <= set(document)


Columns = Dict[str, List[Optional[Number]]]


# ---- reading -------------------------------------------------------------------------------


def _rows(data: Any) -> Tuple[List[str], List[List[str]]]:
    import csv
    import io

    if not isinstance(data, str):
        raise FormatError("reseng: data is %s: expected CSV text" % shown(data))
    try:
        lines = [line for line in csv.reader(io.StringIO(data, newline="")) if line]
    except csv.Error as error:
        raise FormatError("reseng: data is no CSV: %s" % error) from None
    header = lines[0] if lines else []
    if sorted(header) != sorted(HEADER):
        raise FormatError(
            "reseng: data begins with %s: expected the columns %s"
            % (shown(",".join(header)), ",".join(HEADER))
        )
    if len(lines) < 2:
        raise FormatError("reseng: data has no rows: expected at least one")
    return header, lines[1:]


def _columns(data: Any) -> Columns:
    header, rows = _rows(data)
    checks.cells(len(rows), len(header), "reseng: data")
    columns: Columns = {name: [] for name in header}
    for row, cells in enumerate(rows):
        if len(cells) != len(header):
            raise FormatError(
                "reseng: row %d has %d cells: expected %d" % (row, len(cells), len(header))
            )
        for name, cell in zip(header, cells):
            where = "reseng: row %d: %s" % (row, name)
            is_absent = cell == "" and name not in ("elapsed", "time")
            columns[name].append(None if is_absent else checks.parse(cell, where))
    return columns


def _tags(tags: Any) -> List[Tuple[int, str]]:
    if not isinstance(tags, list):
        raise FormatError("reseng: tags is %s: expected a list" % shown(tags))
    result = []
    for i, tag in enumerate(tags):
        if not isinstance(tag, (list, tuple)) or len(tag) != 2 or not isinstance(tag[1], str):
            text = "reseng: tags[%d] is %s: expected [epoch, label]"
            raise FormatError(text % (i, shown(tag)))
        result.append((checks.epoch_ns(tag[0], "reseng: tags[%d][0]" % i), tag[1]))
    return result


def _is_whole(value: Number) -> bool:
    return abs(value - round(value)) <= 1e-9 * max(value, 1.0)


def _nominal_interval(columns: Columns, times_ns: List[int]) -> Optional[float]:
    """The interval that all rates are whole bytes over; None: there is no such, or no rate.

    The monitor sleeps for it and then works a little, so that it is just below the shortest time
    between two rows.  Taken with most digits first: a wrong one is then wrong by little.
    """
    rates: List[Any] = []
    for field in FIELDS:
        rates += columns[field.name][1:] if field.kind == RATE else []
    if not any(rates) or None in rates:
        return None
    shortest = min(late - early for early, late in zip(times_ns, times_ns[1:])) / 1e9
    digits = "%.9e" % shortest
    for places in (3, 2, 1):
        # cut, not rounded: "1.0061...e-01" gives 0.100
        interval = float(digits[: places + (places > 1)] + digits[digits.index("e") :])
        if interval > 0.0 and all(_is_whole(rate * interval) for rate in rates):
            return interval
    return None


def _bytes_of(rates: List[Any], interval: float) -> List[Optional[Number]]:
    total = 0
    raws: List[Optional[Number]] = [0]
    for rate in rates[1:]:
        total += round(rate * interval)
        raws.append(total)
    return raws


def _figures(
    columns: Columns, since: List[int], interval: Optional[float]
) -> List[Optional[Figures]]:
    """Of times since the start."""
    figures: List[Optional[Figures]] = []
    for field in FIELDS:
        values = columns[field.name]
        if field.kind == RATE and interval is not None:
            field = field._replace(kind=COUNTER, is_first_void=False, part="")
            first = {} if values[0] is None else {0: values[0]}
            found = figures_of(field, since, _bytes_of(values, interval))
            figures.append(found._replace(restated=first) if found is not None else None)
        else:
            figures.append(figures_of(field, since, values))
    return figures


def read(document: Dict[str, Any]) -> List[Dict[str, Any]]:
    columns = _columns(document.get("data"))
    times_ns = [
        checks.epoch_ns(t, "reseng: row %d: time" % row) for row, t in enumerate(columns["time"])
    ]
    checks.ascending(times_ns, "reseng: time")
    start = checks.start_ns(document.get(checks.START_KEY), times_ns, "reseng")
    # A file that is made of a run has rates over the time that they took.
    interval = _nominal_interval(columns, times_ns) if start == times_ns[0] else None
    figures = _figures(columns, [t - start for t in times_ns], interval)
    settings = {} if interval is None else {"interval_ms": interval * 1000, _INTERVAL: interval}
    found = Read(
        shape=SHAPE,
        start_ns=start,
        times_ns=times_ns,
        columns=[column for column in figures if column is not None],
        origin="read from a file of reseng's ResourceMonitor",
        machine={},
        settings=settings,
        tags=_tags(document.get("tags")),
    )
    return [make_run(found)]


# ---- writing -------------------------------------------------------------------------------


def _text_of(values: Optional[List[Optional[Number]]], rows: int, is_whole: bool) -> List[str]:
    """As pandas prints a column: whole numbers only where each cell has one."""
    if values is None:
        return [""] * rows
    whole = [int(value) for value in values if value is not None and value == int(value)]
    if is_whole and len(whole) == rows:
        return [str(value) for value in whole]
    return ["" if value is None else repr(float(value)) for value in values]


def _rates_of(table: RunTable, field: Field, interval: float) -> Optional[List[Optional[Number]]]:
    """As the monitor reckons them: growth by the nominal interval."""
    if field.instance not in table.instances(field.metric):
        return None
    lasts = table.series(field.metric, field.instance)["last"]
    rates = [
        None if early is None or late is None else (late - early) / interval
        for early, late in zip(lasts, lasts[1:])
    ]
    return [restated_of(table, SHAPE, field.name).get(0)] + rates


def _values(table: RunTable, field: Field) -> Optional[List[Optional[Number]]]:
    interval: Any = table.settings.get(_INTERVAL)
    if field.kind == RATE and is_finite(interval) and interval >= 1e-6:
        return _rates_of(table, field, interval)
    return field_of_run(table, SHAPE, field)


def write(tables: Sequence[RunTable]) -> Dict[str, Any]:
    if len(tables) != 1:
        raise FormatError("reseng: a file is of one process: expected 1 run, not %d" % len(tables))
    table = tables[0]
    values = [_values(table, field) for field in FIELDS]
    if all(column is None for column in values):
        raise FormatError("%s has no figures of a process that reseng has" % table.where)
    rows = len(table.times_ns)
    times = [t / 10**9 for t in table.times_ns]
    columns = [[repr(t - times[0]) for t in times], [repr(t) for t in times]]
    for field, column in zip(FIELDS, values):
        columns.append(_text_of(column, rows, field.name == "memory"))
    lines = [",".join(HEADER)] + [",".join(cells) for cells in zip(*columns)]
    tags = [[t / 10**9, label] for t, label in table.tags()]
    start = checks.start_of(table.start_ns, table.times_ns[0])
    return {"tags": tags, "data": "\n".join(lines) + "\n", **start}
