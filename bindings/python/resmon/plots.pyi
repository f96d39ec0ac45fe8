# SPDX-License-Identifier: MIT
from os import PathLike
from typing import Any, Dict, Optional, Sequence, Tuple, Union

from .run import Recorded

class Plot:
    figure: Any  # matplotlib.figure.Figure
    axes: Dict[str, Any]  # matplotlib.axes.Axes by panel
    def save(self, path: Union[str, "PathLike[str]"], **options: Any) -> None: ...

def plot(
    run: Recorded,
    *panels: Union[str, Sequence[str]],
    title: Optional[str] = ...,
    tags: bool = ...,
    figsize: Optional[Tuple[float, float]] = ...,
) -> Plot: ...
