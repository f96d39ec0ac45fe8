# SPDX-License-Identifier: MIT
"""Runs as tables of pandas and pyarrow, both optional, and by the Arrow PyCapsule interface.

The capsule is over the library's Arrow C data interface: consumers use the memory of the run.
https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""
import ctypes
from ctypes import c_char_p, c_int, c_void_p, py_object

from . import _abi
from ._library import lib, series_of
from .errors import Error


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
            raise  # the package is installed, but not its dependency
        raise MissingPackage(f"{what} needs {name}, which is not installed: pip install {name}") from None


def available(module, what):
    """Raises MissingPackage if an optional package is not installed, without importing it."""
    import importlib.util
    if importlib.util.find_spec(module) is None:
        raise MissingPackage(f"{what} needs {module}, which is not installed: pip install {module}")


def frame_of_run(run, series, names):
    """Returns the table of a run as a DataFrame."""
    pandas, numpy = wanted("pandas", "to_pandas()"), wanted("numpy", "to_pandas()")
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


# ---- Arrow ------------------------------------------------------------------------------------------


_NAME = b"arrow_array_stream"


class _Stream(ctypes.Structure):
    """struct ArrowArrayStream."""

    _fields_ = [("get_schema", c_void_p), ("get_next", c_void_p), ("get_last_error", c_void_p),
                ("release", ctypes.CFUNCTYPE(None, c_void_p)), ("private_data", c_void_p)]


# The capsule owns the structure, and outlives this module's frames: its memory is the C library's.
_libc = ctypes.CDLL(None)
_libc.calloc.restype, _libc.calloc.argtypes = c_void_p, (ctypes.c_size_t, ctypes.c_size_t)
_libc.free.restype, _libc.free.argtypes = None, (c_void_p,)

_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = py_object, (c_void_p, c_char_p, _Destructor)
# In the destructor the capsule is being deleted: as a py_object it would be revived.
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


@_Destructor
def _destroy(capsule, is_valid=_is_valid, pointer=_pointer, name=_NAME, stream_type=_Stream, free=_libc.free):
    if not is_valid(capsule, name):
        return
    address = pointer(capsule, name)
    stream = stream_type.from_address(address)
    if stream.release:  # it was not consumed
        stream.release(address)
    free(address)


# A capsule may outlive all modules, at the end of the interpreter.
ctypes.pythonapi.Py_IncRef(py_object(_destroy))
ctypes.pythonapi.Py_IncRef(py_object(_NAME))


def stream_capsule(run, series):
    """Returns a capsule with a stream of the run's table."""
    code = series_of(series)
    address = _libc.calloc(1, ctypes.sizeof(_Stream))
    if not address:
        raise MemoryError("no memory for an Arrow stream")
    try:
        lib.run_export_arrow(run, code, address)
    except BaseException:
        _libc.free(address)
        raise
    return _new(address, _NAME, _destroy)


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
