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
        interval: Optional[Union[float, str]] = ...,
        *,
        on_sample: Optional[Callable[[Sample], object]] = ...,
        # generated: keywords
        domains: Optional[_Names] = ...,
        scopes: Optional[Union[_Names, bool]] = ...,
        name: Optional[str] = ...,
        record: Optional[_Path] = ...,
        stacks: Optional[_Names] = ...,
        stack_hz: Optional[int] = ...,
        fault_period: Optional[int] = ...,
        counters: Optional[str] = ...,
        scope_counters: Optional[str] = ...,
        smaps: Optional[bool] = ...,
        idle: Optional[str] = ...,
        pid: Optional[int] = ...,
        cgroup: Optional[str] = ...,
        each: Optional[bool] = ...,
        command: Optional[str] = ...,
        rows: Optional[int] = ...,
        events: Optional[int] = ...,
        tags: Optional[int] = ...,
        scope_paths: Optional[int] = ...,
        scope_threads: Optional[int] = ...,
        scope_depth: Optional[int] = ...,
        max_overhead: Optional[float] = ...,
        max_meter_share: Optional[float] = ...,
        stop_timeout: Optional[Union[float, str]] = ...,
        fs_root: Optional[_Path] = ...,
        carbon: Optional[Place] = ...,
        json: Optional[_Sink] = ...,
        csv: Optional[_Sink] = ...,
        emissions: Optional[_Sink] = ...,
        trace: Optional[_Sink] = ...,
        html: Optional[_Sink] = ...,
        markdown: Optional[_Sink] = ...,
        mlflow: Optional[Union[bool, str, Mapping[str, Any]]] = ...,
        prometheus: Optional[_Sink] = ...,
        pushgateway: Optional[Union[str, Mapping[str, Any]]] = ...,
        folded: Optional[_Sink] = ...,
        folded_memory: Optional[_Sink] = ...,
        folded_file: Optional[_Sink] = ...,
        pprof: Optional[_Sink] = ...,
        # generated: end
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
