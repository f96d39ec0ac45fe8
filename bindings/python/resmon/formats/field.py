# SPDX-License-Identifier: MIT
"""A field of an old file, and how its figures become a column of a run and back.

The series and statistics of a column are made as the library makes them (lib/store/stats.c): a
gauge stands for the time since its reading before, a counter has growth since the start and rates.
"""
from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .checks import Number

GAUGE = "gauge"
INTERVAL = "interval"  # a gauge of the time since the reading before
COUNTER = "counter"
RATE = "rate"  # a counter of which the file has the rate

_OVER = (20.0, 40.0, 80.0, 100.0)

# A counter that is restated more often is no counter; a file of such would fill the settings.
_MAX_RESTATED = 1000


class Field(NamedTuple):
    """A row of a shape's table: field `name` of the file is `metric` of a run."""

    name: str
    metric: str
    unit: str
    kind: str
    level: str
    instance: str = ""
    times: int = 1  # unit of the run = unit of the file * times / over
    over: int = 1
    rather: Tuple[str, ...] = ()  # metrics that are written where the run has them
    instead: Tuple[str, ...] = ()  # metrics that are written where it has no other
    is_first_void: bool = False  # the file's first figure is over no time: not taken over
    part: str = ""  # of the file, with a source of its own: its figures are good as samples only
    remark: str = ""  # what that source says

    def to_run(self, value: Number) -> Number:
        value = value * self.times
        if self.over != 1:
            return value / self.over
        return int(value) if self.times != 1 and float(value).is_integer() else value

    def to_file(self, value: Number) -> Number:
        if self.over != 1:
            return round(value * self.over)
        return value / self.times if self.times != 1 else value

    def writes(self) -> Tuple[str, ...]:
        return self.rather + (self.metric,) + self.instead

    def column(self, source: str) -> Dict[str, str]:
        kind = "counter" if self.kind in (COUNTER, RATE) else "gauge"
        return {
            "metric": self.metric,
            "instance": self.instance,
            "unit": self.unit,
            "kind": kind,
            "level": self.level,
            "source": source,
        }


class Cell(NamedTuple):
    """What a row has of a column; None: not known."""

    last: Optional[Number]
    value: Optional[Number] = None  # the level, or the rate
    amount: Number = 0
    weight: float = 0.0  # s
    is_reset: bool = False


_EMPTY = Cell(None)


def _exact(value: Number) -> Decimal:
    return Decimal(repr(value))


def plus(a: Number, b: Number) -> Number:
    """The sum as it is in decimals: counters in a file are decimals, and their growth should be."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return float(_exact(a) + _exact(b))


def minus(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return float(_exact(a) - _exact(b))


def _seconds(times_ns: List[int], early: Optional[int], late: int) -> float:
    return 0.0 if early is None else (times_ns[late] - times_ns[early]) / 1e9


def _gauge_cells(
    times_ns: List[int], values: List[Optional[Number]], is_interval: bool
) -> Iterator[Cell]:
    before = None
    is_read = False
    for row, value in enumerate(values):
        if value is None:
            # A share of the time since the reading before is of that time, even if it is the first.
            before = row if is_interval and not is_read else before
            yield _EMPTY
            continue
        dt = _seconds(times_ns, before, row)
        yield Cell(value, value, value * dt, dt)
        before = row
        is_read = True


def _counter_cells(times_ns: List[int], raws: List[Optional[Number]]) -> Iterator[Cell]:
    before = None
    raw_before: Number = 0
    base: Number = 0
    base_growth: Number = 0
    growth: Number = 0
    for row, raw in enumerate(raws):
        if raw is None:
            yield _EMPTY
            continue
        if before is None or raw < raw_before:
            # Counts from here.  One that ran backwards was reset: nothing is known of the gap.
            yield Cell(growth, is_reset=before is not None)
            base, base_growth = raw, growth
        else:
            dt = _seconds(times_ns, before, row)
            more = minus(raw, raw_before)
            growth = plus(base_growth, minus(raw, base))
            yield Cell(growth, more / dt if dt > 0.0 else None, more, dt)
        before, raw_before = row, raw


def _rate_cells(times_ns: List[int], rates: List[Optional[Number]]) -> Iterator[Cell]:
    growth: Number = 0
    for row, rate in enumerate(rates):
        if row == 0:
            yield Cell(0)
        elif rate is None:
            yield _EMPTY
        else:
            dt = _seconds(times_ns, row - 1, row)
            growth += rate * dt
            yield Cell(growth, rate if dt > 0.0 else None, rate * dt, dt)


def _quantile(ordered: List[Number], q: float) -> Optional[Number]:
    """Nearest rank: the smallest value that at least q of all do not exceed."""
    return ordered[max(math.ceil(q * len(ordered)) - 1, 0)] if ordered else None


def _mean(cells: List[Cell], values: List[Number], is_counter: bool) -> Optional[Number]:
    weight = sum(cell.weight for cell in cells)
    if weight > 0.0:
        mean = sum(cell.amount for cell in cells) / weight
        return min(max(mean, values[0]), values[-1]) if values else mean
    return None if is_counter else cells[-1].last


def _summary(cells: List[Cell], is_counter: bool) -> Dict[str, Any]:
    read = [cell for cell in cells if cell.last is not None]
    values = sorted(cell.value for cell in read if cell.value is not None)
    levels = [] if is_counter else [(cell.value, cell.weight) for cell in read]
    over = [sum(s for value, s in levels if value is not None and value >= x) for x in _OVER]
    return {
        "n": len(read),
        "first": read[0].last,
        "last": read[-1].last,
        "min": values[0] if values else None,
        "max": values[-1] if values else None,
        "mean": _mean(read, values, is_counter),
        "integral": sum(cell.amount for cell in read),
        "p50": _quantile(values, 0.50),
        "p95": _quantile(values, 0.95),
        "duration_s": sum(cell.weight for cell in read),
        "resets": sum(cell.is_reset for cell in read),
        "over_s": over,
    }


class Figures(NamedTuple):
    """A column of a run made from a field of a file."""

    field: Field
    series: Dict[str, List[Optional[Number]]]
    summary: Dict[str, Any]
    restated: Dict[int, Number]  # by row: what the file has there and the column does not tell


def _cells(field: Field, times_ns: List[int], values: List[Optional[Number]]) -> List[Cell]:
    if field.kind == COUNTER:
        raws = [None if value is None else field.to_run(value) for value in values]
        return list(_counter_cells(times_ns, raws))
    if field.kind == RATE:
        return list(_rate_cells(times_ns, values))
    return list(_gauge_cells(times_ns, values, field.kind == INTERVAL))


def figures_of(
    field: Field, times_ns: List[int], values: List[Optional[Number]]
) -> Optional[Figures]:
    """The column of a field's figures, one for each row; None where none of them is known.

    Times are since the start.  Where the first row is later, its counters count since the start.
    """
    if all(value is None for value in values):
        return None
    if times_ns[0] > 0:
        at_start: Optional[Number] = 0 if field.kind == COUNTER else None
        cells = _cells(field, [0] + times_ns, [at_start] + values)[1:]
    elif field.is_first_void:
        nothing: List[Optional[Number]] = [None]
        cells = _cells(field, times_ns, nothing + values[1:])
    else:
        cells = _cells(field, times_ns, values)
    lasts = [cell.last for cell in cells]
    amounts = [cell.value for cell in cells]
    is_counter = field.kind in (COUNTER, RATE)
    series = {"last": lasts, "min": amounts, "max": list(amounts), "mean": list(amounts)}
    summary = _summary(cells, is_counter) if any(v is not None for v in lasts) else {"n": 0}
    return Figures(field, series, summary, _restated(field, values, series))


def file_values(
    field: Field, series: Dict[str, List[Optional[Number]]], restated: Dict[int, Number]
) -> List[Optional[Number]]:
    """What the file has of a column: the inverse of figures_of().

    Of a row of several samples: of a level the last, of a share or a rate the mean over the row.
    """
    if field.kind != COUNTER:
        kind = "last" if field.kind == GAUGE else "mean"
        return [restated.get(row, value) for row, value in enumerate(series[kind])]
    values: List[Optional[Number]] = []
    base: Number = 0
    base_growth: Number = 0
    for row, growth in enumerate(series["last"]):
        if growth is not None and row in restated:
            base, base_growth = field.to_run(restated[row]), growth
        value = None if growth is None else plus(base, minus(growth, base_growth))
        values.append(restated.get(row, None if value is None else field.to_file(value)))
    return values


def _restated(
    field: Field, values: List[Optional[Number]], series: Dict[str, List[Optional[Number]]]
) -> Dict[int, Number]:
    """Where file_values() must be told the file's own figure to find it again."""
    restated: Dict[int, Number] = {}
    if field.kind != COUNTER:
        back = file_values(field, series, restated)
        return {row: v for row, v in enumerate(values) if v is not None and v != back[row]}
    base: Number = 0
    base_growth: Number = 0
    for row, (value, growth) in enumerate(zip(values, series["last"])):
        if value is None or growth is None:
            continue
        if field.to_file(plus(base, minus(growth, base_growth))) != value:
            restated[row] = value
            base, base_growth = field.to_run(value), growth
    return restated if len(restated) <= _MAX_RESTATED else {}
