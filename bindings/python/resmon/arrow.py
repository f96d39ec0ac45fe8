# SPDX-License-Identifier: MIT
"""The Arrow PyCapsule interface over the library's Arrow C data interface; consumers use the memory of the run.

https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
"""
import ctypes
from ctypes import c_char_p, c_int, c_void_p, py_object

from . import _abi
from ._library import lib
from .errors import ArgumentError

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
    if stream.release:  # nobody has consumed it
        stream.release(address)
    free(address)


# A capsule may outlive all modules, at the end of the interpreter.
ctypes.pythonapi.Py_IncRef(py_object(_destroy))
ctypes.pythonapi.Py_IncRef(py_object(_NAME))


def stream_capsule(run, series):
    """Returns a capsule with a stream of the run's table."""
    if series not in _abi.SERIES:
        raise ArgumentError(f"series={series!r}: expected one of {', '.join(map(repr, _abi.SERIES))}")
    address = _libc.calloc(1, ctypes.sizeof(_Stream))
    if not address:
        raise MemoryError("no memory for an Arrow stream")
    try:
        lib.run_export_arrow(run, _abi.SERIES[series], address)
    except BaseException:
        _libc.free(address)
        raise
    return _new(address, _NAME, _destroy)
