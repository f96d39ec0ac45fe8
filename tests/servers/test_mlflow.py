#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs on a real MLflow server, read back with mlflow's own client and compared with their documents.

mlflow_server.py --python test_mlflow.py EXAMPLES DIRECTORY: the screenshot stays in DIRECTORY.
"""
import contextlib
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import types

os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
from mlflow import MlflowClient

import check_tab
import mlflow_server
import read_back

SERIES = {"MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "true", "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "0.05"}
IMPATIENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0"}
WAITS_FOR = "the run waits for: resmon push --mlflow="
# In the order of the page, which forgets the charts that are scrolled away.
DRAWN = ("cpu_utilization_percentage", *(["disk_write_megabytes"] if os.listdir("/sys/block") else []),
         "process_memory_rss_megabytes", "process_threads")


def until(what, condition, seconds=60):
    """What the condition gives once it is true; it has to become that."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.05)
    return found


class Place:
    """A directory, the programs, and an experiment of its own on a server."""

    def __init__(self, examples, directory, name, uri=None):
        self.examples = pathlib.Path(examples)
        self.directory = pathlib.Path(directory)
        self.experiment = f"{name} {os.getpid()}"
        self.uri = uri or os.environ["MLFLOW_TRACKING_URI"]
        self.client = MlflowClient(self.uri)

    def path(self, name):
        return self.directory / name

    def environment(self, more):
        return {**os.environ, "MLFLOW_TRACKING_URI": self.uri, "MLFLOW_EXPERIMENT_NAME": self.experiment, **more}

    def start(self, resmon, more=None, **how):
        return subprocess.Popen([self.examples / "hello"], cwd=self.directory, stderr=subprocess.PIPE, text=True,
                                env=self.environment({"RESMON": resmon, **(more or {})}),
                                **{"stdout": subprocess.DEVNULL, **how})

    def observe(self, resmon, more=None):
        """A whole run of the program; what was said about it."""
        process = self.start(resmon, more)
        said = process.communicate(timeout=100)[1]
        assert process.returncode == 0, said
        return said

    def tool(self, name, *words, more=None):
        done = subprocess.run([self.examples.parent / "bin" / "resmon", name, *words], cwd=self.directory, timeout=200, check=False,
                              env=self.environment(more or {}), capture_output=True, text=True)
        return types.SimpleNamespace(code=done.returncode, said=done.stdout + done.stderr)

    def push(self, *files, more=None):
        done = self.tool("push", *files, more=more)
        assert done.code == 0, done.said
        return done.said

    def runs(self):
        found = self.client.get_experiment_by_name(self.experiment)
        return self.client.search_runs([found.experiment_id], order_by=["attributes.created"]) if found else []

    def only_run(self):
        runs = self.runs()
        assert len(runs) == 1, f"{len(runs)} runs in {self.experiment}"
        return runs[0].info

    def compare(self, run_id, document, *words):
        options = read_back.parse_arguments(["--run", run_id, "--document", str(document), *words])
        logged = read_back.Logged(self.client, run_id)
        problems = read_back.check_all(logged, read_back.Document(document), options)
        points = sum(map(len, logged.histories.values()))
        print(f"  run {run_id}: {points} points compared, {len(problems)} differences", flush=True)
        assert not problems, "\n".join(problems[:20])
        return logged


@contextlib.contextmanager
def held(place, resmon, more=None):
    """The program, held at its first line of output, with two scopes open: its terminal has been stopped.
    release() lets it go on, and gives what it says."""
    master, terminal = pty.openpty()
    termios.tcflow(terminal, termios.TCOOFF)
    process = place.start(resmon, more, stdout=terminal)

    def release():
        termios.tcflow(terminal, termios.TCOON)
        said = process.communicate(timeout=100)[1]
        assert process.returncode == 0, said
        return said

    process.release = release
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(terminal)


def has_series(place, name, least):
    """Whether the server has so many points of it already."""
    runs = place.runs()
    key = read_back.SERIES_KEY.format(node=0, name=name)
    return runs and key in runs[0].data.metrics and \
        len(place.client.get_metric_history(runs[0].info.run_id, key)) >= least


# ---- the cases ---------------------------------------------------------------------------------------


def check_drawing(place, info, directory):
    if not all(map(shutil.which, ("chromium", "chromedriver"))):
        print("  not checked here: the page (Debian: chromium, chromium-driver)")
        return
    keys = [f"system/node_0/{name}" for name in DRAWN]
    code = check_tab.main(["--uri", place.uri, "--experiment-id", info.experiment_id, "--run", info.run_id,
                           "--least", "3", "--screenshot", f"{directory}/system-metrics-run.png", *keys])
    assert code == 0, "the page draws something else"


def everything(place, directory):
    """Each number of the document, the document itself, and nothing else."""
    with held(place, "mlflow,json=run.json,interval=20ms,rows=10000,stop_timeout=2min,scopes=wall+cpu+rss+io,name=everything",
              {**SERIES, "LOGNAME": "somebody"}) as process:
        until("series while the program runs", lambda: has_series(place, "process_threads", 3))
        said = process.release()
    assert said == "", said
    info = place.only_run()
    assert info.run_name == "everything"
    hello = place.examples / "hello"
    place.compare(info.run_id, place.path("run.json"), "--exact", "--tag-is", f"mlflow.source.name={hello}",
                  "--tag-is", "mlflow.source.type=LOCAL", "--tag-is", "mlflow.user=somebody")
    check_drawing(place, info, directory)


def small_table(place, _):
    """Rows merge while the run is being logged: steps rise all the same, and no value is invented."""
    said = place.observe("mlflow,json=run.json,interval=2ms,rows=8,stop_timeout=2min", SERIES)
    assert said == "", said
    assert read_back.Document(place.path("run.json")).words["run"]["halvings"] > 0
    place.compare(place.only_run().run_id, place.path("run.json"))


def attached(place, _):
    """A run that others made keeps its status and what they logged."""
    run_id = place.client.create_run(place.client.create_experiment(place.experiment), tags={"theirs": "t"}).info.run_id
    place.client.log_metric(run_id, "loss", 0.5, step=3)
    place.client.log_param(run_id, "resmon.interval_ms", "of others")
    keys = "mlflow,json=run.json,interval=5ms,rows=10000,stop_timeout=2min"
    said = place.observe(keys, {**SERIES, "MLFLOW_RUN_ID": run_id})
    assert said == "", said
    assert place.only_run().run_id == run_id
    logged = place.compare(run_id, place.path("run.json"), "--exact", "--attached", "--status", "RUNNING",
                           "--tag-is", "theirs=t", "--param-is", "resmon.interval_ms=of others")
    assert [point[::2] for point in logged.history("loss")] == [(3, 0.5)]
    place.client.set_terminated(run_id)


def killed(place, _):
    """The recording of a program that was killed, and the document made of it: one run, whichever is sent."""
    with held(place, "record=run.rec,interval=5ms,rows=4000,scopes=wall+cpu+rss+io") as process:
        def has_samples():
            return place.tool("recover", "run.rec", "-o", "now.json").code == 0 and \
                read_back.Document(place.path("now.json")).words["run"]["samples"] >= 20
        until("20 samples", has_samples)
        process.kill()
        process.wait()
    assert place.tool("recover", "run.rec", "-o", "run.json").code == 0
    assert read_back.Document(place.path("run.json")).words["run"]["state"] == "interrupted"
    place.push("run.rec", "run.json", more=SERIES)
    place.compare(place.only_run().run_id, place.path("run.json"), "--exact", "--status", "KILLED")


def document_of(said):
    """The document that the library named."""
    assert WAITS_FOR in said, said
    return said.split(WAITS_FOR)[1].split(" ", 1)[1].split(": ")[0]


def stopped(examples, directory):
    """A server that goes away when one run has begun and before another does, and comes back after both."""
    python, store, port = os.environ["RESMON_MLFLOW_PYTHON"], f"{directory}/store", mlflow_server.free_port()
    uri = f"http://127.0.0.1:{port}"
    begun, unknown = (Place(examples, directory, name, uri) for name in ("begun", "unknown"))
    settings = "mlflow,json={}.json,interval=5ms,rows=65536,stop_timeout=2min"
    with mlflow_server.server(python, store, port), contextlib.ExitStack() as programs:
        process = programs.enter_context(held(begun, settings.format("begun"), {**SERIES, **IMPATIENT}))
        until("a series while the program runs", lambda: has_series(begun, "process_threads", 1))
        keep_on = programs.pop_all()
    with keep_on:
        said = process.release()
    said_of_unknown = unknown.observe(settings.format("unknown"), {**SERIES, **IMPATIENT})
    with mlflow_server.server(python, store, port):
        assert begun.only_run().status == "RUNNING" and not unknown.runs()
        for place, words in ((begun, said), (unknown, said_of_unknown)):
            for _ in range(2):  # again sends nothing twice
                place.push(document_of(words))
            name = place.experiment.split()[0]
            place.compare(place.only_run().run_id, place.path(f"{name}.json"), "--exact")


CASES = (everything, small_table, attached, killed)


def main(examples, directory):
    for case in CASES:
        print(f"{case.__name__}: {case.__doc__.splitlines()[0]}", flush=True)
        with tempfile.TemporaryDirectory(prefix="resmon-mlflow-test-") as work:
            case(Place(examples, work, case.__name__), directory)
    print(f"stopped: {stopped.__doc__.splitlines()[0]}", flush=True)
    with tempfile.TemporaryDirectory(prefix="resmon-mlflow-test-") as work:
        stopped(examples, work)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
