# SPDX-License-Identifier: MIT
"""The interfaces of older tools on top of libresmon: with another import, a script works unchanged.

    from reseng.monitor import ResourceMonitor     ->  from resmon.compat.reseng import ResourceMonitor
    from memory_profiler import memory_usage       ->  from resmon.compat.memory_profiler import memory_usage
    from line_profiler import profile              ->  from resmon.compat.line_profiler import profile
    from codecarbon import EmissionsTracker        ->  from resmon.compat.codecarbon import EmissionsTracker
    from common.perf import PerformanceMetrics...  ->  from resmon.compat.perf import PerformanceMetricsCollector

Each module lists where its results differ from those of the tool, whose defects are not reproduced.
"""
import builtins
import os
import runpy
import sys

from ..monitor import Monitor


class OwnMonitor(Monitor):
    """A monitor whose options the user has not chosen: it gives no warnings about them."""

    _warns = False


def run_script(name, profile):
    """``python3 -m NAME SCRIPT ARGUMENT...``: the script runs with ``profile`` as a builtin; tables are printed at its end."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"usage: python3 -m {name} SCRIPT [ARGUMENT]...\n\nRuns a script in which functions are decorated by @profile, "
              "without an import.\nTheir tables are printed when it ends.")
        sys.exit(0 if len(sys.argv) > 1 else 2)
    del sys.argv[0]
    if not os.path.isfile(sys.argv[0]):
        sys.exit(f"{name}: {sys.argv[0]}: there is no such script")
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    builtins.profile = profile
    runpy.run_path(sys.argv[0], run_name="__main__")
