# SPDX-License-Identifier: MIT
from datetime import datetime
from typing import Any, Dict, List, Optional, Tuple

class Estimate(float):
    low: float
    high: float
    def __new__(cls, value: float, low: Optional[float] = ..., high: Optional[float] = ...) -> Estimate: ...
    @property
    def is_vague(self) -> bool: ...

class Record:
    def to_dict(self) -> Dict[str, Any]: ...

class Info(Record):
    # members of run, overhead, dropped
    state: str
    label: str
    start_realtime_ns: int
    duration_s: float
    samples: int
    stride: int
    halvings: int
    sampler_cpu_s: float
    sampler_wall_s: float
    sampler_wall_max_s: float
    late_samples: int
    skipped_samples: int
    delivery_cpu_s: float
    gpus_cpu_s: float
    stacks_cpu_s: float
    handlers_s: float
    library_cpu_s: float
    scopes_s: float
    memory_bytes: int
    rss_bytes: float
    work_rss_bytes: float
    dropped_rows: int
    dropped_tags: int
    dropped_threads: int
    dropped_scopes: int
    dropped_paths: int
    stale_ends: int
    misordered_ends: int
    dropped_events: int
    dropped_lines: int
    dropped_forks: int
    dropped_processes: int
    # end
    @property
    def start(self) -> datetime: ...

class End(Record):
    reason: str
    exit_status: int
    signal: str
    text: str

class Usage(Record):
    # members of usage
    user_s: float
    system_s: float
    rss_peak_bytes: float
    minor_faults: float
    major_faults: float
    voluntary_switches: float
    involuntary_switches: float
    read_bytes: float
    write_bytes: float
    wall_s: float
    # end

class Node(Record):
    # members of node
    name: str
    state: str
    index: int
    start_s: float
    duration_s: float
    host_start_s: float
    host_duration_s: float
    clock_error_s: float
    ranks: int
    cpus: float
    memory_bytes: float
    allotted_cpus: float
    allotted_bytes: float
    cpu_s: float
    used_bytes: float
    gpus: float
    cpu_model: str
    gpu_model: str
    kernel: str
    # end

class Rank(Record):
    # members of rank
    rank: int
    node: int
    local_rank: int
    pid: int
    name: str
    state: str
    start_s: float
    duration_s: float
    cpu_s: float
    cpu_user_s: float
    cpu_system_s: float
    rss_peak_bytes: float
    rss_peak_provenance: str
    read_bytes: float
    write_bytes: float
    energy_j: float
    reason: str
    exit_status: int
    signal_number: int
    text: str
    # end

class Spread(Record):
    # members of spread
    ranks: int
    mean_s: float
    min_s: float
    max_s: float
    min_rank: int
    max_rank: int
    imbalance: float
    lost_s: float
    # end
    path: str
    walls_s: List[float]

class Process(Record):
    # members of process
    pid: int
    parent_pid: int
    name: str
    start_s: float
    duration_s: float
    cpu_s: float
    rss_peak_bytes: float
    rss_peak_provenance: str
    reason: str
    exit_status: int
    signal_number: int
    scopes: int
    cpu_provenance: str
    # end

class Tag(Record):
    # members of tag
    t_s: float
    label: str
    # end

class Source(Record):
    # members of source
    name: str
    status: int
    provenance: str
    reason: str
    reads: int
    failures: int
    cost_s: float
    cost_max_s: float
    every: int
    # end
    available: bool

class Scope(Record):
    # members of scope
    name: str
    file: str
    function: str
    line: int
    parent: int
    depth: int
    calls: int
    folded: int
    threads: int
    wall_s: float
    self_s: float
    wall_min_s: float
    wall_max_s: float
    wall_stddev_s: float
    open: int
    open_s: float
    concurrent_s: float
    failed: int
    ended_at_exit: int
    cpu_calls: int
    cpu_provenance: str
    cpu_s: Estimate
    pcpu_calls: int
    pcpu_provenance: str
    pcpu_s: Estimate
    pcpu_process_s: Estimate
    rss_calls: int
    rss_provenance: str
    rss_peak_bytes: float
    io_calls: int
    io_provenance: str
    io_read_chars: Estimate
    io_write_chars: Estimate
    io_read_count: Estimate
    io_write_count: Estimate
    io_read_bytes: Estimate
    io_write_bytes: Estimate
    counter_calls: int
    counter_provenance: str
    counter_running: float
    energy_j: float
    energy_uncertainty_j: float
    energy_kwh: float
    energy_gco2eq: float
    energy_provenance: str
    resumed: int
    # end
    path: str
    counts: Dict[str, Estimate]

class Counter(Record):
    # members of counter
    name: str
    unit: str
    status: int
    reason: str
    # end
    available: bool

class Line(Record):
    # members of line
    file: str
    function: str
    line: int
    hits: int
    wall_s: float
    rss_hits: int
    rss_bytes: float
    rss_max_bytes: float
    # end

class Event(Record):
    # members of event
    name: str
    thread_name: str
    thread_id: int
    start_s: float
    duration_s: float
    depth: int
    is_open: bool
    # end

class Frame(Record):
    # members of frame
    function: str
    file: str
    module: str
    line: int
    address: int
    is_inlined: bool
    module_offset: int
    # end

class Stack(Record):
    scope: str
    frames: Tuple[Frame, ...]
    is_cut: bool
    samples: Dict[str, int]
    weights: Dict[str, float]
    errors: Dict[str, float]

class StackInfo(Record):
    # members of stack_info
    status: int
    reason: str
    period: int
    samples: int
    weight: float
    total: float
    lost: int
    error: float
    low_weight: float
    high_weight: float
    first_bytes: float
    last_bytes: float
    # end
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
    highest_rss_bytes: float
    highest_t_s: float
    life_rss_bytes: float

class Function(Record):
    name: str
    file: str
    self_weight: float
    total_weight: float
    self_share: float
    total_share: float
    samples: int
    self_low: float
    self_high: float
    total_low: float
    total_high: float

class Column(Record):
    # members of column
    metric: str
    instance: str
    unit: str
    kind: str
    level: str
    source: str
    # end
    name: str
    is_counter: bool

class Statistics(Record):
    # members of statistics
    n: int
    first: float
    last: float
    min: float
    max: float
    mean: float
    integral: float
    p50: float
    p95: float
    duration_s: float
    resets: int
    over_s: Tuple[float, ...]
    # end
    unit: str
    is_counter: bool

class EnergyPart(Record):
    # members of energy_part
    name: str
    provenance: str
    method: str
    node_j: float
    tree_j: float
    # end

class Energy(Record):
    # members of energy
    node_j: float
    tree_j: float
    rest_j: float
    modelled_share: float
    node_gco2eq: float
    tree_gco2eq: float
    node_water_l: float
    tree_water_l: float
    g_per_kwh: float
    pue: float
    wue: float
    provenance: str
    year: int
    place: str
    source: str
    remark: str
    # end
    basis: str
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
