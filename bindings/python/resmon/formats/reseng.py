# SPDX-License-Identifier: MIT
"""The dump of reseng.monitor.ResourceMonitor: {"tags": [[epoch, label], ...], "data": "<CSV>"}.

The CSV is what pandas' DataFrame.to_csv() makes of the index "elapsed" and the columns below: an empty cell is unknown.
One process; read_ and write_ are bytes per second.
"""
from ..errors import FormatError
from .converter import (GAUGE, RATE, SHARE, START_KEY, Field, Table, document_of, epoch_ns, expect, parse, row_times, shown,
                        start_of, times_of, values_of)

_RATES = ("rates are over a nominal interval that the file does not have: they, and growth, which is rate times time, may "
          "be some percent too large")


def _rate(name, metric):
    return Field(name, metric, "B", RATE, "process", part="io", remark=_RATES)


# In the order of the file.  Its first row covers no time, so its share is ignored.
FIELDS = (
    Field("cpu", "proc.cpu.percent", "%", SHARE, "process", is_first_void=True),
    Field("memory", "proc.mem.rss", "B", GAUGE, "process"),
    _rate("read_bytes", "proc.io.read_bytes"),
    _rate("read_chars", "proc.io.read_chars"),
    _rate("write_bytes", "proc.io.write_bytes"),
    _rate("write_chars", "proc.io.write_chars"),
)

HEADER = ["elapsed", "time"] + [field.name for field in FIELDS]


def is_shape(document):
    """Returns whether a document is a dump."""
    return isinstance(document, dict) and {"tags", "data"} <= set(document)


def _columns(data):
    import csv
    import io
    try:
        lines = [line for line in csv.reader(io.StringIO(expect(data, str, "reseng: data"), newline="")) if line]
    except csv.Error as error:
        raise FormatError("reseng: data is no CSV: %s" % error) from None
    header = lines[0] if lines else []
    if sorted(header) != sorted(HEADER):
        raise FormatError("reseng: data begins with %s: expected the columns %s"
                          % (shown(",".join(header)), ",".join(HEADER)))
    columns = {name: [] for name in header}
    for row, cells in enumerate(lines[1:]):
        if len(cells) != len(header):
            raise FormatError("reseng: row %d has %d cells: expected %d" % (row, len(cells), len(header)))
        for name, cell in zip(header, cells):
            is_unknown = cell == "" and name not in ("elapsed", "time")
            columns[name].append(None if is_unknown else parse(cell, "reseng: row %d: %s" % (row, name)))
    return columns


def _tag(tag, where):
    if not isinstance(tag, (list, tuple)) or len(tag) != 2 or not isinstance(tag[1], str):
        raise FormatError("%s is %s: expected [epoch, label]" % (where, shown(tag)))
    return epoch_ns(tag[0], where + "[0]"), tag[1]


def read(document):
    """Returns the run document of a dump, in a list."""
    columns = _columns(document["data"])
    tags = [_tag(tag, "reseng: tags[%d]" % i) for i, tag in enumerate(expect(document["tags"], list, "reseng: tags"))]
    table = Table(times_of(columns["time"], "reseng: time"), {field: columns[field.name] for field in FIELDS},
                  document.get(START_KEY), tags=tags)
    return [document_of("reseng", "read from a file of reseng's ResourceMonitor", table, "reseng")]


def _cells(values, rows, is_whole):
    """Returns a column as pandas prints it: whole numbers only if each cell has one."""
    if values is None:
        return [""] * rows
    if is_whole and all(isinstance(value, int) for value in values):
        return [str(value) for value in values]
    return ["" if value is None else repr(float(value)) for value in values]


def write(runs):
    """Returns the dump of a run."""
    if len(runs) != 1:
        raise FormatError("reseng: a file is of one process: expected 1 run, not %d" % len(runs))
    run, columns = runs[0], [values_of(runs[0], field) for field in FIELDS]
    if all(column is None for column in columns):
        raise FormatError("%s has no values of a process that reseng has" % run.title)
    times_ns = row_times(run)
    times = [t / 1e9 for t in times_ns]
    cells = [[repr(t - times[0]) for t in times], [repr(t) for t in times]]
    cells += [_cells(column, len(times), field.name == "memory") for field, column in zip(FIELDS, columns)]
    lines = [",".join(row) for row in [HEADER, *zip(*cells)]]
    tags = [[run.info.start_realtime_ns / 1e9 + tag.t_s, tag.label] for tag in run.tags]
    return {"tags": tags, "data": "\n".join(lines) + "\n", **start_of(run, times_ns[0])}
