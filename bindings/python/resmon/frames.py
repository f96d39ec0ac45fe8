# SPDX-License-Identifier: MIT
"""Runs as tables of pandas and pyarrow, both optional."""
from . import _abi
from .arrow import stream_capsule
from .errors import ArgumentError, Error


class MissingPackage(Error, ImportError):  # type: ignore[misc]
    """An optional package is not installed."""


def wanted(module, what, package=None):
    """Returns the module of an optional package; MissingPackage if it is not installed."""
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module.partition(".")[0]
        if error.name and error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, and something that it needs is not
        raise MissingPackage(f"{what} needs {name}, which is not installed: pip install {name}") from None


def available(module, what):
    """Raises MissingPackage if an optional package is not installed, without importing it."""
    import importlib.util
    if importlib.util.find_spec(module) is None:
        raise MissingPackage(f"{what} needs {module}, which is not installed: pip install {module}")


def frame_of_run(run, series, names):
    """Returns the table of a run as a DataFrame."""
    pandas, numpy = wanted("pandas", "to_pandas()"), wanted("numpy", "to_pandas()")
    if series not in _abi.SERIES:
        raise ArgumentError(f"series={series!r}: expected one of {', '.join(map(repr, _abi.SERIES))}")
    columns = run.columns
    chosen = list(range(len(columns))) if names is None else [run._index(name) for name in names]
    last_ns = numpy.array(run._row_times(), dtype="int64")
    block = numpy.empty((len(chosen), len(last_ns)))
    for target, index in zip(block, chosen):
        target[:] = run._series(index, series)
    elapsed = pandas.Index(last_ns / 1e9, name="elapsed")
    frame = pandas.DataFrame(block.T, columns=[columns[i].name for i in chosen], index=elapsed, copy=False)
    frame.insert(0, "time", pandas.to_datetime(last_ns + run.info.start_realtime_ns, unit="ns", utc=True))
    per = "/s" if series in ("min", "max", "mean") else ""
    frame.attrs["units"] = {columns[i].name: columns[i].unit + (per if columns[i].is_counter else "") for i in chosen}
    return frame


def frame_of_records(records, index=None):
    """Returns records as a DataFrame."""
    pandas = wanted("pandas", "to_pandas()")
    names = records[0].members if records else []
    return pandas.DataFrame([record.to_dict() for record in records], columns=list(names), index=index)


class _Exported:
    """A run with another choice of series, for consumers of the PyCapsule interface."""

    def __init__(self, run, series):
        self._run, self._series = run, series

    def __arrow_c_stream__(self, requested_schema=None):
        return stream_capsule(self._run, self._series)


def arrow_table(run, series):
    """Returns a pyarrow.Table over the run's memory."""
    pyarrow = wanted("pyarrow", "to_arrow()")
    return pyarrow.RecordBatchReader.from_stream(_Exported(run, series)).read_all()
