# SPDX-License-Identifier: MIT
"""codecarbon: EmissionsTracker, OfflineEmissionsTracker, track_emissions.

Differences: counters that can be read are read without root's help or say why not; start and stop take milliseconds;
no server is asked where the machine stands: say it (country_iso_code, or the variables that codecarbon has), else it is
the world's average.
"""
import functools
import os

from ..monitor import Monitor

__all__ = ["EmissionsTracker", "OfflineEmissionsTracker", "track_emissions"]


class EmissionsTracker:
    """``start()``, ``stop()`` in kg CO2eq; a context manager; writes a line of emissions.csv."""

    def __init__(self, project_name=None, measure_power_secs=15, output_dir=".", output_file="emissions.csv",
                 save_to_file=True, tracking_mode="machine", country_iso_code=None, region=None, cloud_provider=None,
                 cloud_region=None, pue=None, **ignored):
        place = {"country": country_iso_code, "region": region, "cloud_provider": cloud_provider,
                 "cloud_region": cloud_region, "pue": pue}
        self._process = tracking_mode == "process"
        self._path = os.path.join(output_dir or ".", output_file) if save_to_file else None
        self._interval = min(float(measure_power_secs), 1.0)
        self._name = project_name or "codecarbon"
        self._place = {name: value for name, value in place.items() if value is not None}
        self._monitor = None
        self.ignored_options = sorted(ignored)
        self.final_emissions = None

    def start(self):
        """Begins."""
        emissions = {"path": self._path, "process": self._process} if self._path else None
        self._monitor = Monitor(interval=self._interval, name=self._name, domains="process+tree+cpu+memory+energy+gpu",
                                carbon=self._place or None, emissions=emissions).start()

    def _kilograms(self):
        energy = self._monitor.energy
        return (energy.tree_gco2eq if self._process else energy.node_gco2eq) / 1000

    def flush(self):
        """Emissions so far, in kg CO2eq."""
        self._monitor.sample_now()
        return self._kilograms()

    def stop(self):
        """Emissions in kg CO2eq."""
        if self._monitor is None:
            return None
        self._monitor.stop()
        self.final_emissions = self._kilograms()
        return self.final_emissions

    @property
    def run(self):
        """What libresmon knows: power over time, scopes, sources."""
        return self._monitor.snapshot()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class OfflineEmissionsTracker(EmissionsTracker):
    """The same: nothing here asks a network."""


def track_emissions(function=None, **options):
    """Decorator: a tracker around each call."""
    if function is None:
        return functools.partial(track_emissions, **options)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with EmissionsTracker(**options):
            return function(*args, **kwargs)
    return wrapper
