# SPDX-License-Identifier: MIT
from typing import Sequence, Union

from .records import Record
from .run import Recorded, Run

class Compared(Record):
    work: float
    idle: float
    difference: float
    low: float
    high: float

class Comparison(Record):
    energy_j: Compared
    power_w: Compared
    gco2eq: Compared
    kgco2eq_year: Compared
    seconds: float
    degrees_of_freedom: float
    modelled_share: float
    hours_per_day: float
    days_per_year: float
    g_per_kwh: float
    pue: float
    work_runs: int
    idle_runs: int
    work_stretches: int
    idle_stretches: int
    provenance: str
    is_significant: bool
    components: str
    place: str
    method: str
    remark: str
    statement: str
    text: str

def measure_idle(seconds: float) -> Run: ...
def compare(
    work: Union[Recorded, Sequence[Recorded]],
    idle: Union[Recorded, Sequence[Recorded]],
    hours_per_day: float = ...,
    days_per_year: float = ...,
) -> Comparison: ...
