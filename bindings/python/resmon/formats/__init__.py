# SPDX-License-Identifier: MIT
"""Files of three older tools, read as run documents, and written from runs.

    perfmon       cpu_metrics.json of ska-sdp-perfmon, one run for each host
    reseng        what reseng.monitor.ResourceMonitor dumps, one run
    perf_reports  the reports of lightgbm-benchmark's common/perf.py, one run for each node

Each tool has a module with a table that maps its fields to metrics.  converter.py does the conversion.
"""
from ..errors import FormatError
from . import perf_reports, perfmon, reseng
from .converter import FORMAT

__all__ = ["SHAPES", "detect", "read", "write"]

_MODULES = {"perfmon": perfmon, "reseng": reseng, "perf_reports": perf_reports}

SHAPES = tuple(_MODULES)


def detect(document):
    """Returns what a document is, by its content: one of SHAPES, "resmon-run", or None."""
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return FORMAT
    return next((shape for shape, module in _MODULES.items() if module.is_shape(document)), None)


def read(document):
    """Returns the run documents of what json.load() made of an old file; of a run document, itself.

    A run document has readings only; resmon.parse() computes the statistics.  Values that the file does not have are
    absent, never 0.  FormatError: the text has the error and its place.
    """
    shape = detect(document)
    if shape is None:
        raise FormatError("the document is of no known shape: expected a run document, or one of " + ", ".join(SHAPES))
    return [document] if shape == FORMAT else _MODULES[shape].read(document)


def write(runs, shape):
    """Returns the old file of `shape` with the values of the runs; json.dump() makes it a file.

    FormatError: the format cannot hold the runs (reseng: one run), or the runs have none of its fields.
    """
    if not isinstance(shape, str) or shape not in _MODULES:
        raise FormatError("shape is %r: expected one of %s" % (shape, ", ".join(SHAPES)))
    if not runs:
        raise FormatError("runs: expected a list of at least one run")
    return _MODULES[shape].write([run._get_run() for run in runs])
