# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Union

from .run import Recorded, Run

def merge(*runs: Union[Recorded, str, "PathLike[str]"]) -> Run: ...
