# SPDX-License-Identifier: MIT
"""The interfaces of older tools on top of libresmon: with another import, a script works unchanged.

    from reseng.monitor import ResourceMonitor     ->  from resmon.compat.reseng import ResourceMonitor
    from memory_profiler import memory_usage       ->  from resmon.compat.memory_profiler import memory_usage
    from line_profiler import profile              ->  from resmon.compat.line_profiler import profile
    from codecarbon import EmissionsTracker        ->  from resmon.compat.codecarbon import EmissionsTracker
    from common.perf import PerformanceMetrics...  ->  from resmon.compat.perf import PerformanceMetricsCollector

Each module lists where its results differ from those of the tool, whose defects are not reproduced.
"""
from ..monitor import Monitor


class OwnMonitor(Monitor):
    """A monitor whose options the user has not chosen: it gives no warnings about them."""

    _warns = False
