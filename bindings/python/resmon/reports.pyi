# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Optional, Sequence, Union

from .run import Recorded

_Path = Union[str, "PathLike[str]"]

def report(
    runs: Union[Recorded, _Path, Sequence[Union[Recorded, _Path]]], path: _Path, *, title: Optional[str] = ...
) -> None: ...
