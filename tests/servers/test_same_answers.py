#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The fake MLflow server answers like the real one at MLFLOW_TRACKING_URI, where it does not mean to be
stricter: same status, same error code, same members of the answer."""
import json
import os
import sys
import urllib.parse

from test_fake_mlflow import NOW, Client, metric, running

# What the real server says beyond the fake; a client must bear it.
MORE = {"inputs", "outputs", "workspace", "trace_location", "effective_trace_archival_location", "user_id"}


def shape(answer):
    """Names of the members, all the way down; of a list, those of its first item."""
    if isinstance(answer, dict):
        return {name: shape(value) for name, value in sorted(answer.items()) if name not in MORE}
    if isinstance(answer, list):
        return [shape(answer[0])] if answer else []
    return type(answer).__name__


class Recorder:
    """One conversation; `seen` has a line for each request."""

    def __init__(self, client):
        self.client = client
        self.seen = []

    def note(self, name, answer):
        status, body = answer
        if isinstance(body, dict) and "error_code" in body:
            self.seen.append((name, status, body["error_code"]))
        else:
            self.seen.append((name, status, shape(body) if isinstance(body, dict) else "no JSON"))
        return body

    def post(self, what, endpoint, **words):
        return self.note(what, self.client.post(endpoint, **words))

    def get(self, what, endpoint, **query):
        return self.note(what, self.client.get(f"{endpoint}?{urllib.parse.urlencode(query)}"))

    def raw(self, name, method, path, body=None, headers=None):
        return self.note(name, self.client.request(method, path, body, headers))


def talk_experiments(talk):
    talk.get("missing by name", "experiments/get-by-name", experiment_name=f"x y {os.getpid()}")
    number = talk.post("create", "experiments/create", name=f"x y {os.getpid()}")["experiment_id"]
    talk.post("create again", "experiments/create", name=f"x y {os.getpid()}")
    talk.get("by name", "experiments/get-by-name", experiment_name=f"x y {os.getpid()}")
    talk.get("missing by id", "experiments/get", experiment_id="77")
    talk.get("default", "experiments/get", experiment_id="0")
    talk.post("run in a missing one", "runs/create", experiment_id="77", start_time=NOW)
    gone = talk.post("another", "experiments/create", name=f"gone {os.getpid()}")["experiment_id"]
    talk.post("delete", "experiments/delete", experiment_id=gone)
    talk.get("deleted by name", "experiments/get-by-name", experiment_name=f"gone {os.getpid()}")
    talk.post("create a deleted one", "experiments/create", name=f"gone {os.getpid()}")
    talk.post("run in a deleted one", "runs/create", experiment_id=gone, start_time=NOW)
    return number


def talk_run(talk, number):
    words = {"experiment_id": number, "start_time": NOW, "run_name": "n",
             "tags": [{"key": "resmon.uuid", "value": "u"}]}
    run = talk.post("run", "runs/create", **words)["run"]["info"]["run_id"]
    talk.get("get", "runs/get", run_id=run)
    talk.post("update", "runs/update", run_id=run, status="FINISHED", end_time=NOW + 1000)
    talk.post("two names", "runs/create", **{**words, "tags": [{"key": "mlflow.runName", "value": "m"}]})
    for name, words in (("search", "tags.`resmon.uuid` = 'u'"), ("nothing", "tags.`resmon.uuid` = 'v'"),
                        ("both", "tags.`resmon.uuid` = 'u' and attributes.status = 'FINISHED'"),
                        ("bad filter", "tags.`resmon.uuid` ~ 'u'")):
        talk.post(name, "runs/search", experiment_ids=[number], filter=words, order_by=["start_time DESC"],
                  max_results=5)
    return run


def talk_batches(talk, run):
    batch = "runs/log-batch"
    talk.post("points", batch, run_id=run, metrics=[metric("m", 1.5, NOW, 1), metric("m", "NaN", NOW, 2)])
    talk.get("history", "metrics/get-history", run_id=run, metric_key="m", max_results=10)
    talk.get("one page", "metrics/get-history", run_id=run, metric_key="m", max_results=1)
    talk.get("no history", "metrics/get-history", run_id=run, metric_key="n", max_results=1)
    talk.post("params", batch, run_id=run, params=[{"key": "p", "value": "1"}])
    talk.post("same param", "runs/log-parameter", run_id=run, key="p", value="1")
    talk.post("changed param", "runs/log-parameter", run_id=run, key="p", value="2")
    talk.post("changed in batch", batch, run_id=run, params=[{"key": "p", "value": "2"}])
    talk.post("twice", batch, run_id=run, params=[{"key": "q", "value": "2"}] * 2)
    talk.post("tag", "runs/set-tag", run_id=run, key="t", value="1")
    talk.post("metric", "runs/log-metric", run_id=run, **metric("o"))
    many = [metric(step=step) for step in range(1001)]
    tags = [{"key": f"k{index}", "value": "v"} for index in range(101)]
    for name, words in (("1001 metrics", {"metrics": many}), ("101 tags", {"tags": tags}),
                        ("101 params", {"params": tags}), ("1001 in all", {"metrics": many[1:], "tags": tags[:1]}),
                        ("1000 metrics", {"metrics": many[1:]})):
        talk.post(name, batch, run_id=run, **words)
    for name in ("b%", "a//b", "/a", "a/", "../a", "", ".", "a" * 251, "é", "gpu:0 mem/used-x_y.z", "a" * 250):
        talk.post(f"key {name[:20]}", batch, run_id=run, metrics=[metric(name)])
    talk.post("no time", batch, run_id=run, metrics=[{"key": "m", "value": 1.0}])
    talk.post("time before 1970", batch, run_id=run, metrics=[metric(timestamp=-1)])
    talk.post("null", batch, run_id=run, metrics=[metric(value=None)])
    talk.post("missing run", batch, run_id="nobody", metrics=[metric()])


def talk_artifacts(talk, run, number):
    path = f"/api/2.0/mlflow-artifacts/artifacts/{number}/{run}/artifacts/resmon/a%20b.json"
    talk.raw("put", "PUT", path, b"{}", {"Content-Type": "application/json"})
    talk.raw("read", "GET", path)
    talk.get("list", "artifacts/list", run_id=run, path="resmon")
    talk.raw("up", "PUT", path.replace("resmon", "../.."), b"{}")


def talk_errors(talk, run):
    create = "/api/2.0/mlflow/runs/create"
    talk.raw("no type", "POST", create, "{}")
    talk.raw("another type", "POST", create, "{}", {"Content-Type": "text/plain"})
    talk.raw("no endpoint", "GET", "/api/2.0/mlflow/x/y")
    talk.raw("not UTF-8", "POST", create, b"\xff", {"Content-Type": "application/json"})
    talk.get("missing run", "runs/get", run_id="nobody")
    talk.post("delete", "runs/delete", run_id=run)
    talk.post("log to a deleted run", "runs/log-batch", run_id=run, metrics=[metric()])
    talk.post("update a deleted run", "runs/update", run_id=run, status="RUNNING")
    talk.raw("health", "GET", "/health")


def conversation(port):
    client = Client(port)
    talk = Recorder(client)
    number = talk_experiments(talk)
    run = talk_run(talk, number)
    talk_batches(talk, run)
    talk_artifacts(talk, run, number)
    talk_errors(talk, run)
    client.close()
    return talk.seen


def main():
    real = conversation(urllib.parse.urlsplit(os.environ["MLFLOW_TRACKING_URI"]).port)
    with running() as port:
        fake = conversation(port)
    different = [(r, f) for r, f in zip(real, fake, strict=True) if r != f]
    for one, other in different:
        print(f"real: {json.dumps(one)}\nfake: {json.dumps(other)}")
    print(f"{len(real)} requests, {len(different)} answered otherwise")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
