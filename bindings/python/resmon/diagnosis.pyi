# SPDX-License-Identifier: MIT
from typing import Iterator, List, Optional

from .records import Record

class Finding(Record):
    state: str
    group: str
    name: str
    what: str
    remedy: str

class Diagnosis:
    findings: List[Finding]
    rules: str
    def __iter__(self) -> Iterator[Finding]: ...
    def __len__(self) -> int: ...

def doctor(fs_root: Optional[str] = ..., group: Optional[str] = ...) -> Diagnosis: ...
