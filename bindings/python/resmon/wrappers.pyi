# SPDX-License-Identifier: MIT
from types import TracebackType
from typing import Any, Callable, Generic, Optional, Type, TypeVar, Union, overload

from typing_extensions import ParamSpec

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)
_Log = Union[bool, Callable[[str], object]]

class Finding:
    name: str
    seconds: float
    running_seconds: float
    peak_bytes: float
    is_exact: bool
    error: str

class Wrapped(Generic[_P, _R]):
    """A wrapped function, with the result of its last call."""

    last: Optional[Finding]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: Any = ...) -> Wrapped[_P, _R]: ...
    @overload
    def __get__(self, instance: object, owner: Any = ...) -> Callable[..., _R]: ...

class _Decorator:
    def __call__(self, function: Callable[_P, _R]) -> Wrapped[_P, _R]: ...

class _Block(_Decorator):
    name: Optional[str]
    last: Optional[Finding]
    def __enter__(self) -> Finding: ...
    def __exit__(
        self, _kind: Optional[Type[BaseException]], error: Optional[BaseException], _trace: Optional[TracebackType]
    ) -> None: ...

# Classes at run time, which are called as these functions are.
@overload
def timer(function: Callable[_P, _R]) -> Wrapped[_P, _R]: ...
@overload
def timer(name: Optional[str] = ..., *, log: _Log = ...) -> _Block: ...
@overload
def peak_rss(function: Callable[_P, _R]) -> Wrapped[_P, _R]: ...
@overload
def peak_rss(name: Optional[str] = ..., *, log: _Log = ...) -> _Block: ...
@overload
def log_start_finish(function: Callable[_P, _R]) -> Wrapped[_P, _R]: ...
@overload
def log_start_finish(*, name: Optional[str] = ..., log: _Log = ...) -> _Decorator: ...
