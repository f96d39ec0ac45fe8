# SPDX-License-Identifier: MIT
from os import PathLike
from types import TracebackType
from typing import Any, Callable, List, Mapping, Optional, Sequence, Type, Union

from .carbon import Place
from .records import SinkInfo
from .run import Recorded, Run
from .sinks import Sample

_Path = Union[str, "PathLike[str]"]
_Names = Union[str, Sequence[str]]
_Sink = Union[_Path, Mapping[str, Any]]

class Monitor(Recorded):
    def __init__(
        self,
        interval: float = ...,
        *,
        scopes: Union[_Names, bool, None] = ...,
        domains: Optional[_Names] = ...,
        name: Optional[str] = ...,
        pid: int = ...,
        carbon: Optional[Place] = ...,
        record: Optional[_Path] = ...,
        json: Optional[_Sink] = ...,
        csv: Optional[_Sink] = ...,
        trace: Optional[_Sink] = ...,
        openmetrics: Optional[_Sink] = ...,
        emissions: Optional[_Sink] = ...,
        mlflow: Union[bool, str, Mapping[str, Any], None] = ...,
        prometheus: Optional[_Sink] = ...,
        pushgateway: Union[str, Mapping[str, Any], None] = ...,
        on_sample: Optional[Callable[[Sample], object]] = ...,
        rows: int = ...,
        smaps: bool = ...,
        idle: str = ...,
        max_events: int = ...,
        max_overhead: float = ...,
        max_meter_share: float = ...,
        max_tags: int = ...,
        max_scope_paths: int = ...,
        max_scope_threads: int = ...,
        max_scope_depth: int = ...,
        stop_timeout: float = ...,
        fs_root: Optional[_Path] = ...,
        stacks: Optional[_Names] = ...,
        stack_hz: int = ...,
        fault_period: int = ...,
        folded: Optional[_Sink] = ...,
        folded_memory: Optional[_Sink] = ...,
        speedscope: Optional[_Sink] = ...,
        pprof: Optional[_Sink] = ...,
        counters: Optional[str] = ...,
        scope_counters: Optional[str] = ...,
    ) -> None: ...
    def start(self) -> Monitor: ...
    def stop(self) -> Monitor: ...
    def __enter__(self) -> Monitor: ...
    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None: ...
    @property
    def state(self) -> str: ...
    def tag(self, label: object) -> None: ...
    def set_label(self, label: object) -> None: ...
    def sample_now(self) -> None: ...
    def snapshot(self) -> Run: ...
    def live(self, seconds: float = ...) -> None: ...
    def add_callback(
        self, on_sample: Callable[[Sample], object], on_stop: Optional[Callable[[Run], object]] = ..., name: str = ...
    ) -> None: ...
    @property
    def sinks(self) -> List[SinkInfo]: ...
