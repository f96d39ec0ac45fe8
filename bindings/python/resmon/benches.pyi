# SPDX-License-Identifier: MIT
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .records import Record
from .run import Recorded

class Bench:
    def __init__(self) -> None: ...
    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> Bench: ...
    def add(self, run: Recorded, name: str = ...) -> None: ...
    def run(
        self,
        function: Callable[[], object],
        n: int = ...,
        name: Optional[str] = ...,
        calls: Optional[int] = ...,
        warmup: int = ...,
    ) -> Bench: ...
    @property
    def names(self) -> List[str]: ...
    def __len__(self) -> int: ...
    @property
    def results(self) -> List[Dict[str, Any]]: ...
    def values(self, figure: str = ..., scope: str = ..., name: Optional[str] = ...) -> List[Optional[float]]: ...
    def text(self, form: str = ...) -> str: ...
    def save(self, path: Union[str, os.PathLike[str]], form: str = ...) -> None: ...

def bench(
    function: Callable[[], object],
    n: int = ...,
    name: Optional[str] = ...,
    calls: Optional[int] = ...,
    warmup: int = ...,
) -> Bench: ...

class Row(Record):
    path: str
    figure: str
    title: str
    unit: str
    rule: str
    before: float
    before_low: float
    before_high: float
    after: float
    after_low: float
    after_high: float
    shift: float
    shift_low: float
    shift_high: float
    p: float
    p_of_all: float
    allowance: float
    before_runs: int
    after_runs: int
    runs_wanted: int
    is_counted: bool
    verdict: str

class Diff:
    def __init__(
        self,
        before: Bench,
        after: Bench,
        fail: Union[None, str, Sequence[str]] = ...,
        before_name: Optional[str] = ...,
        after_name: Optional[str] = ...,
    ) -> None: ...
    @property
    def verdict(self) -> str: ...
    @property
    def rows(self) -> List[Row]: ...
    def text(self, form: str = ..., full: bool = ..., width: int = ...) -> str: ...
    def show_runs(self, before: Recorded, after: Recorded) -> None: ...
    def save(self, path: Union[str, os.PathLike[str]], form: str = ...) -> None: ...

_Side = Union[Bench, str, os.PathLike[str], Recorded, Sequence[Union[Recorded, str, os.PathLike[str]]]]

def diff(before: _Side, after: _Side, fail: Union[None, str, Sequence[str]] = ...) -> Diff: ...

class Trend:
    def __init__(self) -> None: ...
    def add(self, bench: Bench, label: str) -> None: ...
    @property
    def series(self) -> List[Dict[str, Any]]: ...
    @property
    def labels(self) -> List[str]: ...
    def text(self, form: str = ..., width: int = ...) -> str: ...
    def save(self, path: Union[str, os.PathLike[str]], form: str = ...) -> None: ...
    def __len__(self) -> int: ...

def trend(paths: Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]]]) -> Trend: ...
