# SPDX-License-Identifier: MIT
"""What the results of the library are in Python: plain values without pointers into the library.

Times are seconds, sizes bytes, energies joules; unknown values are NaN. Each class is made from a structure of the C
interface: a member "wall_ns" becomes the attribute ``wall_s``.
"""
from __future__ import annotations

import ctypes
import math
from ctypes import byref

from . import _abi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    _Self = TypeVar("_Self", bound="Record")


class Estimate(float):
    """A value with its 95 % interval: ``low``, ``high`` (NaN: not known).

    If every call was measured, both are the value itself.
    """

    __slots__ = ("low", "high")
    low: float
    high: float

    def __new__(cls, value: float, low: float | None = None, high: float | None = None) -> Estimate:
        figure = super().__new__(cls, value)
        figure.low, figure.high = value if low is None else low, value if high is None else high
        return figure

    @property
    def is_uncertain(self) -> bool:
        """Whether the interval is wider than the value, or is not known."""
        return not self.high - self.low <= self  # pylint: disable=unnecessary-negation

    def __getnewargs__(self) -> tuple[float, float, float]:  # type: ignore[override]
        return float(self), self.low, self.high


def _is_time(name: str) -> bool:
    return name.endswith("_ns") and not name.endswith("_realtime_ns")


def _plain(name: str, value: Any, words: dict[int, Any] | None) -> Any:
    if isinstance(value, _abi.Estimate):
        scale = 1e9 if _is_time(name) else 1
        return Estimate(value.value / scale, value.low / scale, value.high / scale)
    if words is not None:
        return words.get(value, words.get(0, ""))
    if _is_time(name):
        return value / 1e9
    if isinstance(value, bytes) or value is None:
        return value.decode("utf-8", "replace") if value else ""
    return tuple(value) if isinstance(value, ctypes.Array) else value


def _comparable(value: Any) -> Any:
    """Returns a form of a value that compares equal, and has the same hash, for equal values; NaN equals NaN."""
    if isinstance(value, Estimate):
        return tuple(map(_comparable, (float(value), float(value.low), float(value.high))))
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in value.members}
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_comparable, value))
    return None if isinstance(value, float) and math.isnan(value) else value


class Record:
    """Named values; two records are equal if all values are equal. NaN equals NaN."""

    __slots__ = ()
    members: tuple[str, ...] = ()  # names of the values
    _struct = ""
    _shown: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        if cls.__slots__:
            cls.members += cls.__slots__

    @classmethod
    def of(cls: type[_Self], struct: Any) -> _Self:
        """Makes a record from a structure of the C interface."""
        record, words = cls(), struct._words_
        for name, _ in struct._fields_:
            attribute = name[:-3] + "_s" if _is_time(name) else name
            if attribute in cls.members:
                setattr(record, attribute, _plain(name, getattr(struct, name), words.get(name)))
        return record

    @classmethod
    def read(cls: type[_Self], get: Callable[..., object], *arguments: object) -> _Self:
        """Makes a record of what a function of the library writes to its last argument."""
        struct = getattr(_abi, cls._struct)()
        get(*arguments, byref(struct))
        return cls.of(struct)

    @classmethod
    def each(cls: type[_Self], count: Callable[..., int], get: Callable[..., object], *owner: object) -> Iterator[_Self]:
        """Yields all records that two functions of the library count and copy."""
        for index in range(count(*owner)):
            yield cls.read(get, *owner, index)

    def to_dict(self) -> dict[str, Any]:
        """Returns all values by name; an :class:`Estimate` also gives ``NAME_low`` and ``NAME_high``."""
        values = {}
        for name in self.members:
            value = values[name] = getattr(self, name)
            if isinstance(value, Estimate):
                values[f"{name}_low"], values[f"{name}_high"] = value.low, value.high
        return values

    def __eq__(self, other: object) -> bool:
        return _comparable(self) == _comparable(other) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(_comparable(self))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.members}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown or self.members)
        return f"{type(self).__name__}({shown})"
