# SPDX-License-Identifier: MIT
from typing import Any, Mapping, Optional, Union

from .records import Record

Place = Union[str, float, Mapping[str, Any]]

class Intensity(Record):
    g_per_kwh: float
    pue: float
    wue: float
    basis: str
    year: int
    place: str
    iso3: str
    country: str
    source: str

class Cost(Record):
    it_kwh: float
    facility_kwh: float
    gco2eq: float
    water_l: float
    coal_kg: float
    natural_gas_kg: float
    petroleum_kg: float

def set_place(place: Optional[Place]) -> None: ...
def intensity(place: Optional[Place] = ...) -> Intensity: ...
def cost(joules: float, place: Optional[Place] = ...) -> Cost: ...
