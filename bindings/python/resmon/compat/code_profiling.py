# SPDX-License-Identifier: MIT
"""code_profiling: timer, ram_usage.

Differences: ram_usage runs the function exactly once, with keyword arguments and as a method too; the peak is exact, and
its unit what it says.
"""
from ..wrappers import peak_rss as ram_usage, timer

__all__ = ["ram_usage", "timer"]
