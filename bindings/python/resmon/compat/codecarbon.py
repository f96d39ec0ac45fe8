# SPDX-License-Identifier: MIT
"""codecarbon: EmissionsTracker, OfflineEmissionsTracker, track_emissions, track_task_emissions, TaskEmissionsTracker, OutputMethod.

Differences: counters are read without root if they are readable, or there is a reason; without counters, the power of
the processor follows its load and the number of its cores, and force_cpu_power and force_ram_power are ignored; start
and stop take milliseconds; no server is queried for the location of the machine: without country_iso_code or the
variables of codecarbon, it is the world average. Output handlers get out(), task_out() and exit(), at flush() and
stop(); live_out() is not called. Of output methods there are "csv" and "logger"; options about servers are ignored.
"""
import contextlib
import csv
import dataclasses
import enum
import functools
import os
import platform
import tempfile
import time
import uuid
from typing import Any

from . import OwnMonitor
from ..errors import ArgumentTypeError, NotFoundError, StateError, warn
from ..results import nearest

__all__ = ["EmissionsTracker", "OfflineEmissionsTracker", "OutputMethod", "TaskEmissionsTracker", "track_emissions",
           "track_task_emissions"]


# Options of codecarbon 3 that are ignored.
_IGNORED = frozenset((
    "api_call_interval", "api_endpoint", "api_key", "co2_signal_api_token", "electricitymaps_api_token",
    "emissions_endpoint", "force_cpu_power", "force_mode_cpu_load", "force_ram_power", "gpu_ids", "log_level", "metadata",
    "on_csv_write", "prometheus_url", "rapl_include_dram", "rapl_prefer_psys", "save_to_api", "save_to_logfire",
    "save_to_prometheus", "allow_multiple_runs", "country_2letter_iso_code", "default_cpu_power", "logger_preamble",
    "tracking_pid"))


_OPTIONS = (*_IGNORED, "project_name", "measure_power_secs", "output_dir", "output_file", "save_to_file",
            "tracking_mode", "country_iso_code", "region", "cloud_provider", "cloud_region", "pue", "wue",
            "force_carbon_intensity_g_co2e_kwh", "experiment_id", "experiment_name", "output_handlers", "output_methods",
            "save_to_logger", "logging_logger")


class OutputMethod(str, enum.Enum):
    """Where the values go: option ``output_methods``."""

    CSV = "csv"
    API = "api"
    LOGGER = "logger"
    PROMETHEUS = "prometheus"
    LOGFIRE = "logfire"
    BOAMPS = "boamps"


# Fields of EmissionsData, which are the columns of emissions.csv.
_TEXTS = ("timestamp", "project_name", "run_id", "experiment_id", "country_name", "country_iso_code", "region", "cloud_provider",
          "cloud_region", "os", "python_version", "codecarbon_version", "cpu_model", "gpu_model", "tracking_mode", "on_cloud")
_NUMBERS = ("duration", "emissions", "emissions_rate", "cpu_power", "gpu_power", "ram_power", "cpu_energy", "gpu_energy",
            "ram_energy", "energy_consumed", "water_consumed", "cpu_count", "gpu_count", "longitude", "latitude", "ram_total_size",
            "cpu_utilization_percent", "gpu_utilization_percent", "ram_utilization_percent", "ram_used_gb", "pue", "wue")


def _row(run, process):
    """Returns {column: text} of the line of emissions.csv of a run; {}: it has no energy, or another rank has the host's."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "emissions.csv")
        with contextlib.suppress(NotFoundError):
            run.export(path, format="emissions", process=process)
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8", newline="") as file:
            return next(csv.DictReader(file))


_Fields: Any = dataclasses.make_dataclass("_Fields", (*_TEXTS, *_NUMBERS))  # for dataclasses.asdict(), which handlers use


class EmissionsData(_Fields):
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


class TaskEmissionsData:
    """A task: ``task_name``, and its values as of EmissionsData."""

    def __init__(self, task_name, data):
        self.task_name = task_name
        self.__dict__.update(data.values)

    @property
    def values(self):
        """All fields, by name."""
        return dict(self.__dict__)


class EmissionsTracker:
    """``start()``, ``stop()`` in kg CO2eq; a context manager; writes a line of emissions.csv."""

    def __init__(self, project_name=None, measure_power_secs=15, output_dir=".", output_file="emissions.csv",
                 save_to_file=True, tracking_mode="machine", country_iso_code=None, region=None, cloud_provider=None,
                 cloud_region=None, pue=None, wue=None, force_carbon_intensity_g_co2e_kwh=None, experiment_id=None,
                 experiment_name="base", output_handlers=(), output_methods=None, save_to_logger=False,
                 logging_logger=None, **ignored):
        place = {"country": country_iso_code, "region": region, "cloud_provider": cloud_provider,
                 "cloud_region": cloud_region, "pue": pue, "wue": wue, "g_per_kwh": force_carbon_intensity_g_co2e_kwh}
        unknown = sorted(set(ignored) - _IGNORED)
        if unknown:
            raise ArgumentTypeError(f"EmissionsTracker has no option {unknown[0]!r}{nearest(unknown[0], _OPTIONS, '')}")
        forced = next((name for name in ("force_cpu_power", "force_ram_power") if ignored.get(name) is not None), None)
        if forced:
            warn(f"EmissionsTracker: {forced} is ignored: power is read from counters, or modelled by load and cores")
        if output_methods is not None:
            save_to_file, save_to_logger = "csv" in output_methods, "logger" in output_methods
        self._process = tracking_mode == "process"
        self._directory = output_dir or "."
        self._path = os.path.join(self._directory, output_file) if save_to_file else None
        self._interval = min(float(measure_power_secs), 1.0)
        self._name = project_name or "codecarbon"
        self._place = {name: value for name, value in place.items() if value is not None}
        self._handlers = [*(output_handlers or ()), *([logging_logger] if save_to_logger and logging_logger else ())]
        self._experiment = experiment_name
        self.run_id = str(uuid.uuid4())
        self._labels = {"run_id": self.run_id, **({} if experiment_id is None else {"experiment_id": str(experiment_id)})}
        self._monitor = self._handed = None
        self.final_emissions = self.final_emissions_data = None
        self._tasks, self._ended, self._begun = {}, [], 0

    def start(self):
        """Begins; nothing if it has begun."""
        if self._monitor is not None and self.final_emissions_data is None:
            return
        self.final_emissions = self.final_emissions_data = self._handed = None
        emissions = {"path": self._path, "process": self._process} if self._path else None
        self._monitor = OwnMonitor(interval=self._interval, name=self._name, domains="process+tree+cpu+memory+energy+gpu",
                                carbon=self._place or None, label=self._labels, emissions=emissions).start()

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
        data = self._data(before, time.perf_counter() - began)
        self._ended.append(TaskEmissionsData(name, data))
        return data

    def _hand_over(self, data):
        """Gives all handlers the values, and what they grew since the last time; writes the file of tasks."""
        before, self._handed = self._handed, data
        delta = self._data(before, data.duration - before.duration) if before is not None and self._handlers else data
        for handler in self._handlers:
            handler.out(data, delta)
            if self._ended:
                handler.task_out(self._ended, self._experiment)
        if self._path and self._ended:
            path = os.path.join(self._directory, f"emissions_{self._experiment}_{self.run_id}.csv")
            with open(path, "w", encoding="utf-8", newline="") as file:
                lines = csv.DictWriter(file, list(self._ended[0].values))
                lines.writeheader()
                lines.writerows(task.values for task in self._ended)

    def flush(self):
        """Writes a line with the emissions so far, and returns them in kg CO2eq; None: it has not begun."""
        if self._monitor is None or self.final_emissions_data is not None:
            return self.final_emissions
        self._monitor.sample_now()
        data = self._data()
        if self._path:
            with contextlib.suppress(NotFoundError):  # it has no energy, or another rank of this host has
                self._monitor.snapshot().export(self._path, format="emissions", process=self._process)
        self._hand_over(data)
        return data.emissions

    def stop(self):
        """Emissions in kg CO2eq; None: it has not begun."""
        if self._monitor is None or self.final_emissions_data is not None:
            return self.final_emissions
        while self._tasks:
            self.stop_task()
        self._monitor.stop()
        self.final_emissions_data = self._data()
        self.final_emissions = self.final_emissions_data.emissions
        self._hand_over(self.final_emissions_data)
        for handler in self._handlers:
            handler.exit()
        return self.final_emissions

    def service_shutdown(self, signum, frame):
        """A handler for signals, that stops."""
        del signum, frame
        self.stop()

    def get_detected_hardware(self):
        """Processor, memory and GPUs, by codecarbon's names; None: not known."""
        with OwnMonitor(domains="memory+energy+gpu") as monitor:
            machine = monitor.snapshot().facts.get("machine", {})
        memory = machine.get("memory_bytes")
        return {"ram_total_size": memory and memory / 2**30, "cpu_count": machine.get("cpus"),
                "cpu_physical_count": machine.get("sockets"), "cpu_model": machine.get("cpu_model"),
                "gpu_count": machine.get("gpus"), "gpu_model": machine.get("gpu_model"), "gpu_ids": None}

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


class TaskEmissionsTracker:
    """A context manager: a task of the tracker; without one, of a tracker of its own."""

    def __init__(self, task_name, tracker=None):
        self.task_name, self._is_own = task_name, tracker is None
        self.tracker = EmissionsTracker() if tracker is None else tracker

    def __enter__(self):
        self.tracker.start_task(self.task_name)
        return self

    def __exit__(self, *_):
        self.tracker.stop_task()
        if self._is_own:
            self.tracker.stop()


def track_task_emissions(fn=None, tracker=None, task_name=""):
    """Decorator: a task around each call."""
    if fn is None:
        return functools.partial(track_task_emissions, tracker=tracker, task_name=task_name)
    function = fn

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with TaskEmissionsTracker(task_name or None, tracker):
            return function(*args, **kwargs)
    return wrapper
