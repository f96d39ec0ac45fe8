# SPDX-License-Identifier: MIT
"""Writes a run to a file: in a format of the library, or as a table with pandas and pyarrow, or for older tools."""
from __future__ import annotations

import json
import os

from . import frames
from ._generated_records import SinkKind
from ._library import encoded, lib
from .errors import ArgumentError, NotFoundError
from .files import written
from .options import sink_text, sinks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

    from ._types import Path
    from .run import Run

    Writer = Callable[[Run, str, IO[bytes], str], object]


def _parquet(run: Run, series: str, file: IO[bytes], _path: str) -> None:
    frames.wanted("pyarrow.parquet", "export to Parquet").write_table(frames.arrow_table(run, series), file)


def _feather(run: Run, series: str, file: IO[bytes], _path: str) -> None:
    frames.wanted("pyarrow.feather", "export to Feather").write_feather(frames.arrow_table(run, series), file)


def _orc(run: Run, series: str, file: IO[bytes], _path: str) -> None:
    orc = frames.wanted("pyarrow.orc", "export to ORC")
    compute = frames.wanted("pyarrow.compute", "export to ORC")
    table = frames.arrow_table(run, series)
    # ORC has neither durations nor unsigned integers.
    table = table.set_column(table.schema.get_field_index("elapsed"), "elapsed", compute.divide(
        compute.cast(compute.cast(table["elapsed"], "int64"), "float64"), 1e9))
    table = table.set_column(table.schema.get_field_index("samples"), "samples", compute.cast(table["samples"], "int64"))
    orc.write_table(table, file)


def _pickle(run: Run, series: str, file: IO[bytes], _path: str) -> None:
    frames.frame_of_run(run, series, None).to_pickle(file, compression=None)


def _hdf5(run: Run, series: str, _file: IO[bytes], path: str) -> None:
    frames.wanted("tables", "export to HDF5")
    frame = frames.frame_of_run(run, series, None)
    units = frame.attrs.pop("units")
    with frames.wanted("pandas", "export to HDF5").HDFStore(path, mode="w") as store:
        store.put("run", frame, track_times=False)
        store.get_storer("run").attrs.units = json.dumps(units)


def _text(run: Run, _series: str, file: IO[bytes], _path: str) -> None:
    file.write(run.summary.text(width=100).encode() + b"\n")


def _old_shape(shape: str) -> Writer:
    def write(run: Run, _series: str, file: IO[bytes], _path: str) -> None:
        from . import formats
        file.write(json.dumps(formats.write([run], shape)).encode())
    return write


# Formats that the library does not write: their endings, and who writes them.
_OWN: dict[str, tuple[tuple[str, ...], Writer]] = {
    "text": ((".txt",), _text), "parquet": ((".parquet", ".pq"), _parquet), "feather": ((".feather", ".arrow"), _feather),
    "orc": ((".orc",), _orc), "hdf5": ((".h5", ".hdf5", ".hdf"), _hdf5), "pickle": ((".pkl", ".pickle"), _pickle),
    **{shape: ((), _old_shape(shape)) for shape in ("perfmon", "reseng", "perf_reports")},
}


def _format_of(path: str) -> str:
    """Returns the format for the ending of a name: of the library's table, as everywhere, or of our own."""
    try:
        return SinkKind.read(lib.sink_kind_of_file, encoded(path, "path")).name
    except NotFoundError as unknown:
        ending = os.path.splitext(path)[1].lower()
        for name, (endings, _) in _OWN.items():
            if ending in endings:
                return name
        more = " ".join(ending for endings, _ in _OWN.values() for ending in endings)
        raise ArgumentError(f"{unknown} .pdf {more}; or format=") from None


def save(run: Run, path: Path, name: str | None, series: str, options: dict[str, Any]) -> None:
    """Writes a run to a file."""
    path = os.fsdecode(path)
    if name is None and path.lower().endswith(".pdf"):
        run.report(path)
        return
    name = name or _format_of(path)
    if name in sinks():
        if series != "value":
            raise ArgumentError(f"series={series!r} is for tables by pandas and pyarrow, not for {name}")
        lib.run_export(run, name.encode(), sink_text(name, {sinks()[name]: path, **options}))
    elif name in _OWN:
        with written(path) as (file, temporary):
            _OWN[name][1](run, series, file, temporary)
    else:
        raise ArgumentError(f"format={name!r}: expected one of {', '.join((*sinks(), *_OWN))}")
