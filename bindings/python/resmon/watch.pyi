# SPDX-License-Identifier: MIT
from typing import Optional, Sequence, Tuple, Union

from .records import Record

class Watched(Record):
    wall_s: float
    cpu_s: float
    tree_cpu_s: float
    rss_bytes: float
    rss_peak_bytes: float
    io_read_bytes: float
    io_write_bytes: float
    io_read_chars: float
    io_write_chars: float
    rss_provenance: str

class Watch:
    watched: Optional[Watched]
    def __init__(self, meters: Union[str, Sequence[str]] = ...) -> None: ...
    def lap(self) -> Watched: ...
    def lap_rss(self) -> Tuple[float, float]: ...
    def end(self) -> Watched: ...
    def __enter__(self) -> Watch: ...
    def __exit__(self, *_: object) -> None: ...
