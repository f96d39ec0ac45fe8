# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Any, Dict, Union

from .run import Recorded

def push(run: Recorded, **options: Any) -> None: ...
def replay(path: Union[str, "PathLike[str]"], **options: Any) -> Dict[str, Union[int, str]]: ...
