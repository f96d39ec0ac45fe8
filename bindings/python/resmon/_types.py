# SPDX-License-Identifier: MIT
"""Types of annotations; imported by type checkers, and never when a program runs."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Optional, Protocol, TypedDict, TypeVar, Union, overload

from typing_extensions import ParamSpec

if TYPE_CHECKING:
    from .wrappers import Finding

Path = Union[str, "PathLike[str]"]
Names = Union[str, Sequence[str]]
Sink = Union[str, "PathLike[str]", Mapping[str, Any]]
Place = Union[str, float, Mapping[str, Any]]
Log = Union[bool, Callable[[str], object]]
Stream = Optional[IO[str]]
P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Options(TypedDict, total=False):
    """Options of a monitor and its sinks."""

    # generated: keywords
    domains: Names | None
    scopes: Names | bool | None
    name: str | None
    label: Mapping[str, object] | None
    record: Path | None
    stacks: Names | None
    stack_hz: int | None
    fault_period: int | None
    counters: str | None
    scope_counters: str | None
    smaps: bool | None
    idle: str | None
    pid: int | None
    cgroup: str | None
    job: str | None
    each: bool | None
    command: str | None
    rows: int | None
    events: int | None
    tags: int | None
    scope_paths: int | None
    scope_threads: int | None
    scope_depth: int | None
    max_overhead: float | None
    max_meter_share: float | None
    stop_timeout: float | str | None
    fs_root: Path | None
    carbon: Place | None
    json: Sink | None
    csv: Sink | None
    emissions: Sink | None
    trace: Sink | None
    html: Sink | None
    markdown: Sink | None
    tensorboard: Sink | None
    mlflow: bool | str | Mapping[str, Any] | None
    prometheus: Sink | None
    pushgateway: str | Mapping[str, Any] | None
    otlp: bool | str | Mapping[str, Any] | None
    folded: Sink | None
    folded_memory: Sink | None
    folded_file: Sink | None
    folded_resident: Sink | None
    pprof: Sink | None
    # generated: end


class Wrapped(Protocol[P, R]):
    """A wrapped function, with the result of its last call."""

    last: Finding | None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Wrapped[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: Any = ...) -> Callable[..., R]: ...


class Decorator(Protocol):
    """What makes a wrapped function of a function."""

    def __call__(self, function: Callable[P, R]) -> Wrapped[P, R]: ...


class Block(Decorator, Protocol):
    """A decorator that is a context manager, too."""

    name: str | None
    last: Finding | None

    def __enter__(self) -> Finding: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /) -> None: ...


class Lines(Protocol):
    """A table of lines: resmon.lines.LineTimes or LineMemory."""

    @property
    def rows(self) -> list[Any]: ...
    def clear(self) -> None: ...
    def has_figures(self) -> bool: ...
    def to_pandas(self) -> Any: ...


class Profiled(Protocol[P, R]):
    """A profiled function, with the table of its lines."""

    lines: Lines

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Profiled[P, R]: ...
    @overload
    def __get__(self, instance: object, owner: Any = ...) -> Callable[..., R]: ...


class LineDecorator(Protocol):
    """What makes a profiled function of a function."""

    def __call__(self, function: Callable[P, R]) -> Profiled[P, R]: ...
