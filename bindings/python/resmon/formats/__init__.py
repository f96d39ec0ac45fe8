# SPDX-License-Identifier: MIT
"""Run documents from and to the files of three older tools.

    perfmon       cpu_metrics.json of ska-sdp-perfmon, one run document for each host
    reseng        what reseng.monitor.ResourceMonitor dumps, one run document
    perf_reports  the reports of lightgbm-benchmark's common/perf.py, one run document for each node

Pure functions on what json.load() gives; the standard library only.  Each shape has a module of its
own with a table that says which metric feeds which field.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

from ..errors import FormatError
from . import perf_reports, perfmon, reseng
from .run_document import FORMAT, RunTable

__all__ = ["SHAPES", "detect", "read", "write"]

_MODULES = {"perfmon": perfmon, "reseng": reseng, "perf_reports": perf_reports}

SHAPES = tuple(_MODULES)


def detect(document: Any) -> Optional[str]:
    """What a document is, by its content: one of SHAPES, "resmon-run", or None."""
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return FORMAT
    for shape, module in _MODULES.items():
        if module.is_shape(document):
            return shape
    return None


def read(document: Any) -> List[Dict[str, Any]]:
    """The run documents of an old file (a run document: itself).

    What the file does not have is absent or None, never 0.  ValueError says what is wrong, where.
    """
    shape = detect(document)
    if shape is None:
        raise FormatError(
            "the document is of no known shape: expected a run document, or one of "
            + ", ".join(SHAPES)
        )
    if shape == FORMAT:
        RunTable(document, "the run document")
        return [document]
    return _MODULES[shape].read(document)


def write(run_documents: Sequence[Any], shape: str) -> Union[Dict[str, Any], List[Any]]:
    """The old file of `shape` that holds the figures of the runs; json.dump() makes it a file.

    ValueError where a document is garbled, where the shape cannot hold them (reseng: one run), or
    where the runs have none of its figures.
    """
    if not isinstance(shape, str) or shape not in _MODULES:
        raise FormatError("shape is %r: expected one of %s" % (shape, ", ".join(SHAPES)))
    if not isinstance(run_documents, (list, tuple)) or not run_documents:
        raise FormatError("run_documents: expected a list of at least one run document")
    tables = [RunTable(run, "run document %d" % i) for i, run in enumerate(run_documents)]
    return _MODULES[shape].write(tables)
