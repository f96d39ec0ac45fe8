# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Any, Callable, Dict, Optional, Tuple, Union

_Path = Union[str, "PathLike[str]"]

PARTITIONS: Tuple[str, ...]
TABLES: Dict[str, Tuple[Tuple[str, str], ...]]

class Dataset:
    @property
    def runs(self) -> Any: ...  # pyarrow.Table
    @property
    def scopes(self) -> Any: ...
    @property
    def nodes(self) -> Any: ...
    def table(self, name: str) -> Any: ...
    def save(self, directory: _Path, progress: Optional[Callable[[int], object]] = ...) -> int: ...

def dataset(*sources: _Path) -> Dataset: ...
