# SPDX-License-Identifier: MIT
"""The old tools' names for things, over libresmon: change the import, and the script runs on.

    from reseng.monitor import ResourceMonitor     ->  from resmon.compat.reseng import ResourceMonitor
    from memory_profiler import memory_usage       ->  from resmon.compat.memory_profiler import memory_usage
    from line_profiler import profile              ->  from resmon.compat.line_profiler import profile
    from codecarbon import EmissionsTracker        ->  from resmon.compat.codecarbon import EmissionsTracker
    from common.perf import PerformanceMetrics...  ->  from resmon.compat.perf import PerformanceMetricsCollector

What they meant is kept, their defects are not: each module says where its answers differ.
"""
from ..monitor import Monitor


class OwnMonitor(Monitor):
    """One whose options its user has not chosen."""

    _warns = False
