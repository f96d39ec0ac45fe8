# SPDX-License-Identifier: MIT
"""MLflow: sends a run to the active run of the mlflow package, if there is one.

A server gets it through the library's own sink. A store without a server (``sqlite:///mlflow.db``, the default of the
mlflow package, or a directory) gets the requests that the sink would send through the package.
"""
from __future__ import annotations

import json
import os
import sys

from . import http_client
from ._library import lib, take_text
from .errors import RemoteError, warn
from .options import sink_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .run import Recorded

_SERVERS = ("http://", "https://")
_STORES = ("file:", "sqlite:", "mysql", "postgresql", "mssql", "databricks")  # stores that the mlflow package writes to, besides paths


def _active():
    """Returns run and server of the mlflow package if the program uses it, otherwise where it would start a run."""
    package = sys.modules.get("mlflow")
    if package is None or not hasattr(package, "active_run"):
        uri = os.environ.get("MLFLOW_TRACKING_URI", "")
        return {"tracking_uri": uri} if uri and not uri.startswith(_SERVERS) else {}
    run = package.active_run()
    return {"tracking_uri": str(package.get_tracking_uri()), **({"run_id": run.info.run_id} if run is not None else {})}


def resolved(value):
    """Returns options of the sink from the value of a user: True, a URI or a dict."""
    if value is True:
        return _active()
    if isinstance(value, dict):
        found = _active() if "run_id" not in value and "tracking_uri" not in value else {}
        if value.get("experiment") or value.get("experiment_id"):
            found.pop("run_id", None)  # a separate run in that experiment
        return {**found, **value}
    return {"tracking_uri": os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value}


# ---- stores without a server ----------------------------------------------------------------------


def is_store(options):
    """Whether the tracking URI is a store that the mlflow package writes to itself."""
    uri = options.get("tracking_uri")
    return (isinstance(uri, str) and bool(uri) and (uri.lower().startswith(_STORES) or "://" not in uri)
            and not options.get("spool_only"))


class Store:
    """A store behind the mlflow package, as a sink of a monitor."""

    def __init__(self, options):
        from .frames import available
        available("mlflow", f"a run in {options['tracking_uri']}")
        self._options = options
        self.options = {**options, "spool_only": True, "no_spool": True}  # the library's sink prepares the run

    def deliver(self, run):
        """Passes a run to the package; if that fails, the run is kept in a run document."""
        try:
            _deliver(run, self._options)
        except RemoteError as error:
            if self._options.get("no_spool"):
                raise
            kept = _keep(run, os.path.abspath(self._options.get("spool") or f"resmon-mlflow-{os.getpid()}.json"))
            words = "".join(f", {name}={self._options[name]!r}" for name in ("tracking_uri", "run_id") if self._options.get(name))
            raise RemoteError(f"{error}; the run waits in {kept}: resmon.mlflow.push(resmon.load({kept!r}){words})") from error


def _keep(run, wanted_path):
    """Writes a run document of mode 0600 to the wanted path, or to a free name beside it."""
    for number in range(1000):
        path = f"{wanted_path}.{number}" if number else wanted_path
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w", encoding="utf-8") as file:
                file.write(run.to_json())
            return path
        except FileExistsError:
            continue
        except OSError as error:
            raise RemoteError(f"mlflow: the store refused the results, and {path} cannot be written: {error.strerror}") from error
    raise RemoteError(f"mlflow: the store refused the results, and {wanted_path} exists 1000 times")


def _run_of(client, plan):
    """Returns the id of the run, and whether it was there before."""
    if plan["run_id"]:
        return plan["run_id"], True
    body, experiment = plan["create"], plan["experiment_id"]
    if plan["experiment"]:
        known = client.get_experiment_by_name(plan["experiment"])
        experiment = known.experiment_id if known is not None else client.create_experiment(plan["experiment"])
    made = client.search_runs([experiment or "0"], f"tags.`resmon.uuid` = '{plan['uuid']}'", max_results=1)
    if made:  # by an earlier delivery that failed halfway
        return made[0].info.run_id, True
    tags = {tag["key"]: tag["value"] for tag in body["tags"]}
    return client.create_run(experiment or "0", body["start_time"], tags, body["run_name"]).info.run_id, False


def _leave_out_known(client, run_id, plan):
    """Leaves out the points that the run has: a store of files keeps equal points twice."""
    bodies = [request["body"] for request in plan["requests"] if request["call"] == "log-batch"]
    keys = {metric["key"] for body in bodies for metric in body["metrics"]}
    known = {(point.key, point.timestamp, point.step) for key in keys for point in client.get_metric_history(run_id, key)}
    for body in bodies:
        body["metrics"] = [m for m in body["metrics"] if (m["key"], m["timestamp"], m["step"]) not in known]


def _log(client, run_id, body):
    from mlflow.entities import Metric, Param, RunTag
    client.log_batch(run_id, [Metric(m["key"], float(m["value"]), m["timestamp"], m["step"]) for m in body.get("metrics", ())],
                     [Param(p["key"], p["value"]) for p in body.get("params", ())],
                     [RunTag(t["key"], t["value"]) for t in body.get("tags", ())])


def _deliver(run, options, again=False):
    """Sends a run to the store through the package; `again`: a part of it may be there."""
    from .frames import wanted
    uri = options["tracking_uri"]
    plan = json.loads(take_text(lib.run_mlflow_requests, run._get_run(), sink_text("mlflow", options)))
    client_of = wanted("mlflow", f"a run in {uri}").MlflowClient
    try:
        client = client_of(tracking_uri=uri)
        run_id, was_there = _run_of(client, plan)
        if again and was_there:
            _leave_out_known(client, run_id, plan)
        for request in plan["requests"]:
            _CALLS[request["call"]](client, run_id, request.get("path"), request["body"])
    except Exception as error:  # pylint: disable=broad-except
        raise RemoteError(f"mlflow: the store {uri} refused the results: {type(error).__name__}: {error}") from error


def _update(client, run_id, body):
    client.set_terminated(run_id, body["status"], body["end_time"])


def _log_params(client, run_id, body):
    """Logs the parameters of an existing run.

    MLflow does not accept a second value for a parameter: that gives a warning, not a failure.
    """
    from mlflow.exceptions import MlflowException
    for param in body["params"]:
        try:
            client.log_param(run_id, param["key"], param["value"])
        except MlflowException as error:
            warn(f"mlflow: the parameter {param['key']} is not changed: {error}")


def _describe(client, run_id, body):
    """Sets the description at the top of the run's page, unless the user has set one."""
    if body["key"] not in client.get_run(run_id).data.tags:
        client.set_tag(run_id, body["key"], body["value"])


_CALLS = {
    "log-batch": lambda client, run_id, path, body: _log(client, run_id, body),
    "params": lambda client, run_id, path, body: _log_params(client, run_id, body),
    "artifact": lambda client, run_id, path, body: client.log_text(run_id, body, path),
    "set-tag": lambda client, run_id, path, body: _describe(client, run_id, body),
    "update": lambda client, run_id, path, body: _update(client, run_id, body),
}


# ---- artifacts -------------------------------------------------------------------------------------


def upload_left(monitor, uri):
    """Uploads the run document if only the package can write to the server's artifact store (s3:, gs:, dbfs:)."""
    package = sys.modules.get("mlflow")
    if package is None or not hasattr(package, "MlflowClient"):
        return
    run = monitor.snapshot()
    facts = run.facts.get("run", {})
    place, page = facts.get("mlflow_left"), facts.get("mlflow_attached") or facts.get("mlflow_run") or ""
    if not place or "/runs/" not in page:
        return
    try:
        client = package.MlflowClient(tracking_uri=uri or page.split("/#/", 1)[0])
        client.log_text(page.rsplit("/", 1)[1], run.to_json(), place)
    except Exception as error:  # pylint: disable=broad-except
        warn(f"mlflow: the run document cannot be stored with the run: {type(error).__name__}: {error}")


# ---- runs that are there -----------------------------------------------------------------------------


def push(run: Recorded, **options: Any) -> None:
    """Sends an existing run to MLflow: a document, or the recording of a killed job.

    A run that its program began there is continued: points that are there are not sent again. RemoteError: the store
    refused the data.

    :param run: a run or a stopped monitor
    :param options: options of ``Monitor(mlflow={...})``
    """
    options = resolved(options)
    if is_store(options):
        _deliver(run, options, again=True)
    else:
        http_client.provide()
        lib.run_push_mlflow_text(run._get_run(), sink_text("mlflow", options))
