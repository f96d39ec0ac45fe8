# SPDX-License-Identifier: MIT
from datetime import datetime
from typing import Any, Dict, Tuple

class Record:
    def to_dict(self) -> Dict[str, Any]: ...

class Info(Record):
    state: str
    label: str
    start_realtime_ns: int
    duration_s: float
    samples: int
    stride: int
    late_samples: int
    sampler_cpu_s: float
    sampler_wall_s: float
    scopes_s: float
    memory_bytes: int
    dropped_tags: int
    dropped_threads: int
    dropped_scopes: int
    dropped_rows: int
    dropped_events: int
    dropped_lines: int
    @property
    def start(self) -> datetime: ...

class Tag(Record):
    t_s: float
    label: str

class Source(Record):
    name: str
    status: int
    provenance: str
    reason: str
    reads: int
    failures: int
    cost_s: float
    cost_max_s: float
    every: int
    available: bool

class Scope(Record):
    name: str
    file: str
    function: str
    line: int
    parent: int
    depth: int
    calls: int
    folded: int
    open: int
    threads: int
    wall_s: float
    self_s: float
    wall_min_s: float
    wall_max_s: float
    wall_stddev_s: float
    open_s: float
    cpu_calls: int
    cpu_s: float
    io_calls: int
    io_read_bytes: float
    io_write_bytes: float
    io_read_chars: float
    io_write_chars: float
    rss_calls: int
    rss_peak_bytes: float
    cpu_provenance: str
    io_provenance: str
    rss_provenance: str
    energy_provenance: str
    energy_j: float
    energy_uncertainty_j: float
    energy_gco2eq: float
    counter_calls: int
    counter_running: float
    counter_provenance: str
    path: str
    counts: Dict[str, float]

class Counter(Record):
    name: str
    unit: str
    reason: str
    status: int
    available: bool

class Line(Record):
    file: str
    function: str
    line: int
    hits: int
    rss_hits: int
    wall_s: float
    rss_bytes: float
    rss_max_bytes: float

class Event(Record):
    name: str
    thread_name: str
    thread_id: int
    start_s: float
    duration_s: float
    depth: int
    is_open: int

class Frame(Record):
    function: str
    file: str
    module: str
    line: int
    address: int
    is_inlined: bool
    module_offset: int

class Stack(Record):
    scope: str
    frames: Tuple[Frame, ...]
    is_cut: bool
    samples: Dict[str, int]
    weights: Dict[str, float]

class StackInfo(Record):
    status: int
    reason: str
    period: int
    samples: int
    weight: float
    total: float
    lost: int
    available: bool

class PeakStack(Record):
    t_s: float
    rss_bytes: float
    headroom_bytes: float
    thread_id: int
    thread_name: str
    scope: str
    frames: Tuple[Frame, ...]
    is_cut: bool

class Function(Record):
    name: str
    file: str
    self_weight: float
    total_weight: float
    self_share: float
    total_share: float
    samples: int

class Column(Record):
    metric: str
    instance: str
    unit: str
    source: str
    kind: str
    level: str
    name: str
    is_counter: bool

class Statistics(Record):
    n: int
    resets: int
    first: float
    last: float
    min: float
    max: float
    mean: float
    integral: float
    p50: float
    p95: float
    duration_s: float
    over20_s: float
    over40_s: float
    over80_s: float
    over100_s: float
    unit: str
    is_counter: bool

class EnergyPart(Record):
    name: str
    method: str
    node_j: float
    tree_j: float
    provenance: str

class Energy(Record):
    node_j: float
    tree_j: float
    modelled_share: float
    node_gco2eq: float
    tree_gco2eq: float
    node_water_l: float
    tree_water_l: float
    g_per_kwh: float
    pue: float
    wue: float
    provenance: str
    basis: str
    year: int
    place: str
    source: str
    remark: str
    parts: Dict[str, EnergyPart]
    node_kwh: float
    tree_kwh: float

class SinkInfo(Record):
    name: str
    reason: str
    status: int
    is_off: int
    calls: int
    failures: int
    end_status: int
    busy_s: float
    longest_s: float

class Metric(Record):
    id: int
    name: str
    unit: str
    kind: str
    level: str
    origin: str
    help: str
