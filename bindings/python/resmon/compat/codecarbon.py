# SPDX-License-Identifier: MIT
"""codecarbon: EmissionsTracker, OfflineEmissionsTracker, track_emissions.

Differences: counters are read without root if they are readable, or there is a reason; start and stop take milliseconds;
no server is queried for the location of the machine: without country_iso_code or the variables of codecarbon, it is the
world average.  Options about servers, loggers and other outputs are accepted and ignored.
"""
import csv
import functools
import os
import platform
import tempfile
import time

from . import OwnMonitor
from ..errors import ArgumentTypeError, NotFoundError, StateError
from ..results import nearest

__all__ = ["EmissionsTracker", "OfflineEmissionsTracker", "track_emissions"]


# Options of codecarbon 3 that are ignored.
_IGNORED = frozenset((
    "api_call_interval", "api_endpoint", "api_key", "co2_signal_api_token", "electricitymaps_api_token",
    "emissions_endpoint", "experiment_id", "experiment_name", "force_cpu_power", "force_mode_cpu_load", "force_ram_power",
    "gpu_ids", "log_level", "logging_logger", "on_csv_write", "output_handlers", "output_methods", "prometheus_url",
    "rapl_include_dram", "rapl_prefer_psys", "save_to_api", "save_to_logfire", "save_to_logger", "save_to_prometheus",
    "allow_multiple_runs", "country_2letter_iso_code", "default_cpu_power", "logger_preamble", "tracking_pid"))


_OPTIONS = (*_IGNORED, "project_name", "measure_power_secs", "output_dir", "output_file", "save_to_file",
            "tracking_mode", "country_iso_code", "region", "cloud_provider", "cloud_region", "pue", "wue",
            "force_carbon_intensity_g_co2e_kwh")


# Fields of EmissionsData, which are the columns of emissions.csv.
_TEXTS = ("timestamp", "project_name", "run_id", "experiment_id", "country_name", "country_iso_code", "region", "cloud_provider",
          "cloud_region", "os", "python_version", "codecarbon_version", "cpu_model", "gpu_model", "tracking_mode", "on_cloud")
_NUMBERS = ("duration", "emissions", "emissions_rate", "cpu_power", "gpu_power", "ram_power", "cpu_energy", "gpu_energy",
            "ram_energy", "energy_consumed", "water_consumed", "cpu_count", "gpu_count", "longitude", "latitude", "ram_total_size",
            "cpu_utilization_percent", "gpu_utilization_percent", "ram_utilization_percent", "ram_used_gb", "pue", "wue")


def _row(run, process):
    """Returns {column: text} of the line of emissions.csv of a run; {}: it has no energy."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "emissions.csv")
        try:
            run.export(path, format="emissions", process=process)
        except NotFoundError:
            return {}
        with open(path, encoding="utf-8", newline="") as file:
            return next(csv.DictReader(file))


class EmissionsData:
    """The values of a run or task, by codecarbon's names: kg, kWh, W, s, GB (GiB), liters; None: not known."""

    def __init__(self, run, process, since=None, seconds=None):
        energy, row = run.energy, _row(run, process)
        for name in _TEXTS:
            setattr(self, name, row.get(name) or None)
        for name in _NUMBERS:
            setattr(self, name, float(row[name]) if row.get(name) else None)
        self.python_version = platform.python_version()
        self.cpu_count = run.facts.get("machine", {}).get("cpus")
        parts = {name: (part.tree_j if process else part.node_j) for name, part in energy.parts.items()}
        grams = energy.tree_gco2eq if process else energy.node_gco2eq
        seconds = run.info.duration_s if seconds is None else seconds
        if since is not None and since.emissions == since.emissions:  # not NaN: the counters were read
            grams -= since.emissions * 1000
            if since.water_consumed is not None and self.water_consumed is not None:
                self.water_consumed -= since.water_consumed
        self._joules = {name: joules for name, joules in parts.items() if joules == joules}
        before = since._joules if since is not None else {}
        joules = {name: value - before.get(name, 0.0) for name, value in self._joules.items()}
        self.duration, self.emissions = seconds, grams / 1000
        for name in ("cpu", "ram", "gpu"):
            setattr(self, f"{name}_energy", joules.get(name, 0.0) / 3.6e6 * energy.pue)
            setattr(self, f"{name}_power", joules[name] / seconds if name in joules and seconds > 0 else 0.0)
        self.energy_consumed = self.cpu_energy + self.ram_energy + self.gpu_energy
        self.emissions_rate = self.emissions / seconds if seconds > 0 else 0.0
        self.country_name, self.pue = self.country_name or energy.place, energy.pue

    @property
    def values(self):
        """All fields, by name."""
        return {name: getattr(self, name) for name in (*_TEXTS, *_NUMBERS)}

    def __repr__(self):
        return (f"EmissionsData(emissions={self.emissions!r}, energy_consumed={self.energy_consumed!r}, "
                f"duration={self.duration!r})")


class EmissionsTracker:
    """``start()``, ``stop()`` in kg CO2eq; a context manager; writes a line of emissions.csv."""

    def __init__(self, project_name=None, measure_power_secs=15, output_dir=".", output_file="emissions.csv",
                 save_to_file=True, tracking_mode="machine", country_iso_code=None, region=None, cloud_provider=None,
                 cloud_region=None, pue=None, wue=None, force_carbon_intensity_g_co2e_kwh=None, **ignored):
        place = {"country": country_iso_code, "region": region, "cloud_provider": cloud_provider,
                 "cloud_region": cloud_region, "pue": pue, "wue": wue, "g_per_kwh": force_carbon_intensity_g_co2e_kwh}
        self._process = tracking_mode == "process"
        self._path = os.path.join(output_dir or ".", output_file) if save_to_file else None
        self._interval = min(float(measure_power_secs), 1.0)
        self._name = project_name or "codecarbon"
        self._place = {name: value for name, value in place.items() if value is not None}
        self._monitor = None
        unknown = sorted(set(ignored) - _IGNORED)
        if unknown:
            raise ArgumentTypeError(f"EmissionsTracker has no option {unknown[0]!r}{nearest(unknown[0], _OPTIONS, '')}")
        self.final_emissions = self.final_emissions_data = None
        self._tasks, self._begun = {}, 0

    def start(self):
        """Begins."""
        emissions = {"path": self._path, "process": self._process} if self._path else None
        self._monitor = OwnMonitor(interval=self._interval, name=self._name, domains="process+tree+cpu+memory+energy+gpu",
                                carbon=self._place or None, emissions=emissions).start()

    def _data(self, since=None, seconds=None):
        return EmissionsData(self._monitor.snapshot(), self._process, since, seconds)

    def start_task(self, task_name=None):
        """Begins a task; starts the tracker first, if it is new."""
        if self._monitor is None:
            self.start()
        self._monitor.sample_now()
        self._begun += 1
        name = str(self._begun) if task_name is None else task_name
        self._tasks[name] = time.perf_counter(), self._data()
        self._monitor.tag(f"task {name}")

    def stop_task(self, task_name=None):
        """Ends a task, and returns its values; default: the task that began last."""
        name = next(reversed(self._tasks), None) if task_name is None else task_name
        if name not in self._tasks:
            raise StateError(f"stop_task: no task {task_name!r} has begun{nearest(str(name), map(str, self._tasks), '')}"
                             if self._tasks else "stop_task: no task has begun")
        began, before = self._tasks.pop(name)
        self._monitor.sample_now()
        return self._data(before, time.perf_counter() - began)

    def flush(self):
        """Emissions so far, in kg CO2eq."""
        self._monitor.sample_now()
        return self._data().emissions

    def stop(self):
        """Emissions in kg CO2eq."""
        if self._monitor is None:
            return None
        self._monitor.stop()
        self.final_emissions_data = self._data()
        self.final_emissions = self.final_emissions_data.emissions
        return self.final_emissions

    @property
    def run(self):
        """The run of libresmon: power over time, scopes, sources."""
        return self._monitor.snapshot()

    def __repr__(self):
        return f"<resmon EmissionsTracker {self._name}: {self.final_emissions} kg CO2eq>"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


class OfflineEmissionsTracker(EmissionsTracker):
    """The same as EmissionsTracker, which uses no network."""


def track_emissions(fn=None, offline=False, **options):
    """Decorator: a tracker around each call.  ``offline`` is accepted as in codecarbon; no network is used in either case."""
    if fn is None:
        return functools.partial(track_emissions, offline=offline, **options)
    function = fn

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with EmissionsTracker(**options):
            return function(*args, **kwargs)
    return wrapper
