# SPDX-License-Identifier: MIT
"""Writes the table of a run to files, with pandas and pyarrow, and in the formats of older tools."""
import json
import os

from . import formats, frames
from .errors import ArgumentError
from .files import written


def _frame(run, series):
    return frames.frame_of_run(run, series, None).reset_index()


def _csv(run, series, file, _path):
    _frame(run, series).to_csv(file, index=False)


def _json(run, series, file, _path):
    frame = _frame(run, series)
    frame["time"] = frame["time"].dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    # pandas writes 15 places at most, which leaves little of a small number.
    rows = [[None if value != value else value for value in row] for row in frame.itertuples(index=False, name=None)]
    file.write(json.dumps([dict(zip(frame.columns, row)) for row in rows]).encode())


def _parquet(run, series, file, _path):
    frames.wanted("pyarrow.parquet", "export to Parquet").write_table(frames.arrow_table(run, series), file)


def _feather(run, series, file, _path):
    frames.wanted("pyarrow.feather", "export to Feather").write_feather(frames.arrow_table(run, series), file)


def _orc(run, series, file, _path):
    orc = frames.wanted("pyarrow.orc", "export to ORC")
    compute = frames.wanted("pyarrow.compute", "export to ORC")
    table = frames.arrow_table(run, series)
    # ORC has neither durations nor unsigned integers.
    table = table.set_column(table.schema.get_field_index("elapsed"), "elapsed", compute.divide(
        compute.cast(compute.cast(table["elapsed"], "int64"), "float64"), 1e9))
    table = table.set_column(table.schema.get_field_index("samples"), "samples", compute.cast(table["samples"], "int64"))
    orc.write_table(table, file)


def _pickle(run, series, file, _path):
    frames.frame_of_run(run, series, None).to_pickle(file, compression=None)


def _hdf5(run, series, _file, path):
    frames.wanted("tables", "export to HDF5")
    frame = frames.frame_of_run(run, series, None)
    units = frame.attrs.pop("units")
    with frames.wanted("pandas", "export to HDF5").HDFStore(path, mode="w") as store:
        store.put("run", frame, track_times=False)
        store.get_storer("run").attrs.units = json.dumps(units)


def _old_shape(shape):
    def write(run, _series, file, _path):
        file.write(json.dumps(formats.write([run.document()], shape)).encode())
    return write


# Name of the format: endings that stand for it, and who writes it.
_FORMATS = {
    "csv": ((".csv",), _csv), "json": ((".json",), _json), "parquet": ((".parquet", ".pq"), _parquet),
    "feather": ((".feather", ".arrow"), _feather), "orc": ((".orc",), _orc), "hdf5": ((".h5", ".hdf5", ".hdf"), _hdf5),
    "pickle": ((".pkl", ".pickle"), _pickle),
    "perfmon": ((), _old_shape("perfmon")), "reseng": ((), _old_shape("reseng")),
    "perf_reports": ((), _old_shape("perf_reports")),
}


def _writer(path, wanted_format):
    if wanted_format is None:
        ending = os.path.splitext(path)[1].lower()
        found = [write for endings, write in _FORMATS.values() if ending in endings]
    else:
        found = [write for name, (_, write) in _FORMATS.items() if name == wanted_format]
    if not found:
        endings = ", ".join(ending for endings, _ in _FORMATS.values() for ending in endings)
        raise ArgumentError(f"export to {path!r}: the suffix must be one of {endings}; or format= one of "
                            f"{', '.join(_FORMATS)}")
    return found[0]


def export(run, path, wanted_format, series):
    """Writes the table of a run, atomically."""
    path = os.fspath(path)
    write = _writer(path, wanted_format)
    with written(path) as (file, temporary):
        write(run, series, file, temporary)
