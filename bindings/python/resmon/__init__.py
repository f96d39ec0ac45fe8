# SPDX-License-Identifier: MIT
"""Measures the resources of a run, a phase or a notebook cell: time, CPU, memory, I/O, GPU, energy and CO2eq.

::

    import resmon

    with resmon.Monitor() as m:          # samples from its own thread, beside your code
        with resmon.scope("load"):
            data = load()
        train(data)
    print(m.summary)
    m.plot()

The package calls libresmon, a C library that is included, through ctypes. Packages beyond the standard library
(pandas, matplotlib, pyarrow, IPython) are optional and are imported on first use.
"""
import importlib as _importlib
import os as _os

from ._library import version as __version__
from .scopes import here, scope

# Where each name is; loaded when it is first used, so that importing the package takes milliseconds.
_HOMES = {
    "errors": ("Error", "ArgumentError", "StateError", "NotFoundError", "AccessError", "FormatError", "BusyError",
               "NotSupportedError", "ResmonWarning"),
    "monitor": ("Monitor",),
    "run": ("Run", "load", "load_all", "parse", "save_trace", "metrics"),
    "wrappers": ("timer", "peak_rss", "log_start_finish"),
    "watch": ("Watch",),
    "lines": ("profile_lines", "profile_memory", "print_lines"),
    "frames": ("MissingPackage",),
    "plots": ("plot",),
    "reports": ("report",),
    "diagnosis": ("doctor",),
    "jobs": ("job", "hostlist", "merge"),
    "datasets": ("dataset", "Dataset"),
    "carbon": ("measure_idle", "above_idle", "compare"),
    "benches": ("bench", "diff", "trend", "Bench", "Diff", "Trend"),
    "options": ("keywords",),
    "magics": ("load_ipython_extension", "unload_ipython_extension"),
}
_home_of = {name: module for module, names in _HOMES.items() for name in names}
if _os.environ.get("RESMON", "").strip():
    from .ends import watch as _watch
    _watch()

__all__ = ["__version__", "scope", "here", *_home_of]


def __getattr__(name):
    if name in _home_of:
        value = getattr(_importlib.import_module(f"{__name__}.{_home_of[name]}"), name)
    elif not name.startswith("_") and name in _MODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


_MODULES = frozenset((*_HOMES, "compat", "engines", "formats", "exports", "frameworks", "mlflow", "promql"))


def __dir__():
    return sorted((*__all__, *_MODULES))
