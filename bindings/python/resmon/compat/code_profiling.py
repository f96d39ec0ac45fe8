# SPDX-License-Identifier: MIT
"""code_profiling: timer, ram_usage.

Differences: ram_usage runs the function exactly once, also with keyword arguments and as a method; the peak is exact,
with the right unit.
"""
from ..wrappers import peak_rss as ram_usage, timer

__all__ = ["ram_usage", "timer"]
