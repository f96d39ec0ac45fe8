# SPDX-License-Identifier: MIT
from typing import Optional

from .records import Record

class PodPeak(Record):
    cpu_cores: float
    memory_bytes: float

class PodEnergy(Record):
    total_j: float
    core_j: float
    uncore_j: float
    package_j: float
    dram_j: float
    other_j: float
    gpu_j: float
    mean_w: float

def value(
    url: str, query: str, at: float = ..., *, token: Optional[str] = ..., ca_path: Optional[str] = ..., timeout: float = ..., insecure_tls: bool = ...
) -> float: ...
def pod_peak(
    url: str, namespace: str, pod: str, window: float = ..., *, token: Optional[str] = ..., ca_path: Optional[str] = ..., timeout: float = ..., insecure_tls: bool = ...
) -> PodPeak: ...
def pod_energy(
    url: str, namespace: str, pod: str, begin: float, end: float, *, token: Optional[str] = ..., ca_path: Optional[str] = ..., timeout: float = ..., insecure_tls: bool = ...
) -> PodEnergy: ...
def pods_energy(
    url: str, namespace: str, selector: str, begin: float, end: float, *, token: Optional[str] = ..., ca_path: Optional[str] = ..., timeout: float = ..., insecure_tls: bool = ...
) -> PodEnergy: ...
