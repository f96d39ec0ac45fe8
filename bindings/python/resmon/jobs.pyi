# SPDX-License-Identifier: MIT
from typing import List

from .records import Record

class Job(Record):
    system: str
    launcher: str
    id: str
    step: str
    array_id: str
    name: str
    queue: str
    cluster: str
    user: str
    node_name: str
    key: str
    remark: str
    array_index: int
    restarts: int
    node_index: int
    node_count: int
    rank: int
    rank_count: int
    local_rank: int
    local_rank_count: int
    node_cpus: int
    node_memory_bytes: int
    time_limit_s: int
    hosts: List[str]
    def __bool__(self) -> bool: ...

def job() -> Job: ...
def hostlist(names: str) -> List[str]: ...
