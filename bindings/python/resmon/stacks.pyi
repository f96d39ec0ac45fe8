# SPDX-License-Identifier: MIT
from typing import Iterable

from .records import Function, Stack
from .results import _List

class Stacks(_List[Stack]): ...

class Functions(_List[Function]):
    kind: str
    def __init__(self, items: Iterable[Function], kind: str) -> None: ...
