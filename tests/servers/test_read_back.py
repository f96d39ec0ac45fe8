#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read_back.py finds nothing in a run that was logged rightly, and finds whatever is wrong in others.

test_read_back.py PROGRAM DIRECTORY: the document is that of PROGRAM, observed with RESMON; it is logged here
through mlflow's client, under the names of read_back.py's tables, to the server at MLFLOW_TRACKING_URI.
What its scopes counted is made up: not every machine counts.
"""
import json
import os
import pathlib
import subprocess
import sys

os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
from mlflow import MlflowClient
from mlflow.entities import Metric, RunTag

import read_back

NODE = 2
EXPERIMENT = f"read_back {os.getpid()}"

# Counters of scopes: name, unit, status, count, and what that is called on the server.
COUNTERS = (
    ("cache-misses", "1", "RESMON_OK", 1234.5, "cache_misses"), ("task-clock", "s", "RESMON_OK", 0.25, "task_clock_seconds"),
    ("cycles", "1", "RESMON_ENODEV", None, None), ("cpu/calls", "1", "RESMON_OK", None, "cpu_calls"),
    ("calls", "1", "RESMON_OK", 7.0, "calls_2"), ("cache_misses", "1", "RESMON_OK", 8.0, "cache_misses_2"),
    ("n" * 80, "s", "RESMON_OK", 9.0, "n" * 55 + "_seconds"),
)


def observed(program, directory):
    path = pathlib.Path(directory, "run.json")
    settings = f"json={path},interval=10ms,scopes=wall+cpu+rss"
    subprocess.run([program], env={**os.environ, "RESMON": settings}, check=True, stdout=subprocess.DEVNULL,
                   timeout=100)
    words = json.loads(path.read_bytes())
    words["counters"] = [{"name": name, "unit": unit, "status": status, "reason": ""}
                         for name, unit, status, _, _ in COUNTERS]
    for scope in words["scopes"]:
        scope["counters"] = [count for _, _, _, count, _ in COUNTERS]
    path.write_text(json.dumps(words))
    return path


def check_counters(document):
    """What read_back.py makes of them: figures of the scope that counted, none of those inside."""
    assert read_back.counter_names(document) == [name for _, _, _, _, name in COUNTERS]
    figures = dict(read_back.scope_figures(document))
    for _, _, _, count, name in COUNTERS:
        if name is not None:
            assert figures[f"system/resmon/scope/main/{name}"] == count, name
            assert figures[f"system/resmon/scope/main/round/{name}"] is None, name
    sampled = {"counters_provenance": "sampled", "counters": [10, 20, 30], "counters_low": [8, 5, 30],
               "counters_high": [12, 26, None]}
    assert read_back.counts_of(sampled, ["a", "b", "c"]) == [("a", 10), ("b", None), ("c", None)]


def metrics_of(document):
    end_ms = (document.start_ns + document.duration_ns) // 10**6
    metrics = [Metric(read_back.SUMMARY_KEY.format(key=key), value, end_ms, NODE)
               for key, value in read_back.node_figures(document).items() if value is not None]
    for name, source in read_back.SERIES.items():
        key = read_back.SERIES_KEY.format(node=NODE, name=name)
        metrics += [Metric(key, value, time, step)
                    for step, time, value in read_back.series_of(document, *source) or []]
    figures = [*read_back.scope_figures(document), *read_back.energy_figures(document).items(),
               *((read_back.RUN_KEY.format(name=name), value) for name, value in read_back.run_figures(document).items())]
    metrics += [Metric(key, value, end_ms, NODE) for key, value in figures if value is not None]
    return metrics


def changed(metrics, part, **fields):
    """The last metric whose key has the part, with other fields."""
    at = max(index for index, metric in enumerate(metrics) if part in metric.key)
    words = {name: getattr(metrics[at], name) for name in ("key", "value", "timestamp", "step")}
    return metrics[:at] + [Metric(**{**words, **fields})] + metrics[at + 1:]


def without(metrics, part):
    return [metric for metric in metrics if part not in metric.key]


def log(client, document, metrics, artifact, tags, status):
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    run = client.create_run(experiment, start_time=document.start_ns // 10**6, tags=tags)
    for first in range(0, len(metrics), 1000):
        client.log_batch(run.info.run_id, metrics[first:first + 1000])
    client.log_batch(run.info.run_id, tags=[RunTag(*pair) for pair in read_back.tags_of(document, NODE).items()])
    client.log_param(run.info.run_id, "label", "x")
    client.log_artifact(run.info.run_id, str(artifact), "resmon")
    client.set_terminated(run.info.run_id, status, (document.start_ns + document.duration_ns) // 10**6)
    return run.info.run_id


def cases(document, metrics):
    """name: (metrics, artifact's text or None, status, words of the complaint)"""
    late = (document.start_ns + document.duration_ns) // 10**6 + 60000
    return {
        "right": (metrics, None, "FINISHED", None),
        "a figure": (changed(metrics, "node_cpu_hours", value=1.0), None, "FINISHED", "node_cpu_hours"),
        "the digits of a figure": (changed(metrics, "max_t_mem_percent", value=next(
            m.value for m in metrics if m.key == "system/max_t_mem_percent") * (1 + 1e-10)), None, "FINISHED",
            "max_t_mem_percent"),
        "another node": (changed(metrics, "max_t_mem_percent", step=1), None, "FINISHED", "at step 2"),
        "no figure": (without(metrics, "max_t_cpu_pct_per_cpu_min"), None, "FINISHED", "is missing at step 2"),
        "a value": (changed(metrics, "process_threads", value=77.0), None, "FINISHED", "process_threads"),
        "a time": (changed(metrics, "process_threads", timestamp=late), None, "FINISHED", "outside of the run"),
        "steps": (changed(metrics, "process_threads", step=0), None, "FINISHED", "a step twice"),
        "no series": (without(metrics, "process_threads"), None, "FINISHED", "is missing"),
        "no figure of the run": (without(metrics, "system/resmon/run/cpu_seconds"), None, "FINISHED", "is missing at step 2"),
        "unknown": (metrics + [Metric("system/resmon/x", 1.0, late, NODE)], None, "FINISHED", "comes from nowhere"),
        "no node": (metrics + [Metric("system/x", 1.0, late, 0)], None, "FINISHED", "system/x: comes from nowhere"),
        "a scope": (changed(metrics, "main/wall_seconds", value=9.0), None, "FINISHED", "main/wall_seconds"),
        "no scope": (without(metrics, "main/wall_seconds"), None, "FINISHED", "is missing"),
        "a count": (changed(metrics, "main/cache_misses", value=9.0), None, "FINISHED", "main/cache_misses"),
        "no count": (without(metrics, "main/task_clock_seconds"), None, "FINISHED", "is missing"),
        "a counter that was not there": (metrics + [Metric("system/resmon/scope/main/cycles", 1.0, late, NODE)], None,
                                         "FINISHED", "main/cycles: comes from nowhere"),
        "a scope that did not count": (
            metrics + [Metric("system/resmon/scope/main/round/calls_2", 1.0, late, NODE)], None, "FINISHED", "round/calls_2"),
        "the artifact": (metrics, "{}", "FINISHED", "artifact"),
        "the status": (metrics, None, "FAILED", "the status is FAILED"),
    }


def main(program, directory):
    path = observed(program, directory)
    document = read_back.Document(path)
    check_counters(document)
    client = MlflowClient()
    client.create_experiment(EXPERIMENT)
    other = pathlib.Path(directory, "other", pathlib.Path(read_back.artifact_of(NODE)).name)
    other.parent.mkdir(exist_ok=True)
    failures = 0
    for name, (metrics, artifact, status, words) in cases(document, metrics_of(document)).items():
        other.write_bytes(artifact.encode() if artifact else document.bytes)
        tags = {"name": name}
        run = log(client, document, metrics, other, tags, status)
        for exact in (["--exact"], []):
            options = read_back.parse_arguments(
                ["--document", str(path), "--experiment", EXPERIMENT, "--tag", f"name={name}", "--node", str(NODE),
                 "--tag-is", f"name={name}", "--tag-is", "resmon.node.2", "--param-is", "label=x", *exact])
            logged = read_back.Logged(client, read_back.find_run(client, options.experiment, options.tag))
            assert logged.run.info.run_id == run
            problems = read_back.check_all(logged, document, options)
            good = not problems if words is None else any(words in line for line in problems)
            failures += not good
            print(f"{'ok' if good else 'FAILED'}: {name} {' '.join(exact)}: {problems[:2]}")
    options = read_back.parse_arguments(["--document", str(path), "--run", run, "--tag-is", "absent",
                                         "--param-is", "label=y"])
    problems = read_back.check_words("tag", logged.run.data.tags, options.tag_is) + \
        read_back.check_words("parameter", logged.run.data.params, options.param_is)
    print(problems)
    return 1 if failures or len(problems) != 2 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
