# SPDX-License-Identifier: MIT
"""The structures of the C interface as ctypes classes, each made of its row in _generated.py when it is first used.

Constants are names of this module, too: ``_abi.METER_RSS``, ``_abi.RunInfo``.
"""
from __future__ import annotations

import ctypes

try:
    from ._generated import *  # noqa: F403
    from ._generated import CALLBACKS, STRUCTS, WORDS
except ModuleNotFoundError:
    raise ImportError("these are the sources of the package resmon: install it (pip install ./bindings/python), or build "
                      "the target resmon-python, which makes what they lack") from None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRUTH = {0: False, 1: True}
_PLAIN = {"void": None, "status": ctypes.c_int32, "size_t": ctypes.c_size_t, "bool64": ctypes.c_uint64, **{
    name: getattr(ctypes, f"c_{name}") for name in ("double", "int", "int32", "uint32", "int64", "uint64", "char", "char_p", "void_p")},
    "bool": ctypes.c_int32, "c_bool": ctypes.c_bool, **dict.fromkeys(WORDS, ctypes.c_int32)}

# The words of codes.
ENDS, VERDICTS, DOCTOR_STATES = WORDS["END"], WORDS["VERDICT"], WORDS["DOCTOR"]
SERIES, STACK_KINDS, STACK_LOSSES = ({word: code for code, word in WORDS[name].items()}
                                     for name in ("SERIES", "STACK", "STACK_LOSS"))


class _Sized(ctypes.Structure):
    """A structure that starts with its size."""

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


def type_of(word):
    """Returns the type for a word of _generated.py: "int64", "char_p", "RunInfo*", "double[3]"."""
    if word in _PLAIN:
        return _PLAIN[word]
    if word.endswith("*"):
        return ctypes.POINTER(type_of(word[:-1]))
    if word.endswith("]"):
        kind, _, length = word[:-1].partition("[")
        return type_of(kind) * int(length)
    if word in CALLBACKS:
        return ctypes.CFUNCTYPE(*map(type_of, CALLBACKS[word].split()))
    return globals().get(word) or __getattr__(word)


def __getattr__(name: str) -> Any:
    if name in STRUCTS:
        fields = [field.split(":") for field in STRUCTS[name].split()]
        members = {"_fields_": [(field, type_of(word)) for field, word in fields], "__module__": __name__,
                   "_words_": {field: TRUTH if word.startswith("bool") else WORDS[word] for field, word in fields
                             if word.startswith("bool") or word in WORDS}}
        made = type(name, (_Sized if fields[0][0] == "struct_size" else ctypes.Structure,), members)
    elif name in CALLBACKS:
        made = type_of(name)
    else:
        raise AttributeError(f"the C interface has no {name}")
    return globals().setdefault(name, made)  # threads that come here at once get the same class
