# SPDX-License-Identifier: MIT
"""MLflow: sends a run to the active run of the mlflow package, if there is one.

A server gets it through the library's own sink. A store without a server (``sqlite:///mlflow.db``, the default of the
mlflow package, or a directory) gets it through the package: the data that the sink would send go into a spool file,
and the package reads them from there.
"""
from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import weakref

from ._generated_records import MlflowReplayInfo
from ._library import encoded, lib
from .errors import Error, FormatError, InputOutputError, NotFoundError, RemoteError, warn
from .options import sink_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Path
    from .run import Recorded

_SERVERS = ("http://", "https://")
_STORES = ("file:", "sqlite:", "mysql", "postgresql", "mssql", "databricks")  # what the mlflow package writes to itself, or a path


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
            found.pop("run_id", None)  # a run of its own, there
        return {**found, **value}
    return {"tracking_uri": os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else value}


# ---- stores without a server ----------------------------------------------------------------------


def is_store(options):
    """Whether the tracking URI is a store that the mlflow package writes to itself."""
    uri = options.get("tracking_uri")
    return (isinstance(uri, str) and bool(uri) and (uri.lower().startswith(_STORES) or "://" not in uri)
            and not options.get("spool_only"))


class Store:
    """A store behind the mlflow package, and the spool file with the data for it."""

    def __init__(self, options):
        from .frames import available
        self._uri = options["tracking_uri"]
        available("mlflow", f"a run in {self._uri}")
        self._kept = os.path.abspath(options.get("spool") or f"resmon-mlflow-{os.getpid()}.spool")
        self._directory = tempfile.mkdtemp(prefix="resmon-mlflow-")
        self._forget = weakref.finalize(self, _remove_empty, self._directory, os.getpid())
        self._forget.atexit = False  # a monitor that nobody stopped delivers at exit, after that
        self._spool = os.path.join(self._directory, "spool")
        self.options = {**options, "spool": self._spool, "spool_only": True, "no_spool": None}

    def deliver(self):
        """Passes the data to the package; data that it does not accept stay in a file."""
        try:
            if os.path.exists(self._spool):
                _deliver(self._uri, self._spool)
                os.remove(self._spool)
        except Error as error:
            kept = _keep(self._spool, self._kept)
            raise type(error)(f"{error}; the results wait in {kept}: resmon.mlflow.replay({kept!r}, "
                              f"tracking_uri={self._uri!r})") from error
        finally:
            self._forget()


def _remove_empty(directory, owner):
    """Removes the directory, but not in the child of a fork: the parent still uses it."""
    if owner == os.getpid():
        with contextlib.suppress(OSError):
            os.rmdir(directory)


def _keep(path, wanted_path):
    """Moves a spool file to the wanted path, or to a free name beside it; keeps it in place if that cannot be
    written.
    """
    root, end = os.path.splitext(wanted_path)
    for number in range(1000):
        to = wanted_path if number == 0 else f"{root}-{number}{end}"
        try:
            number_of_file = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)  # as the library's own
        except FileExistsError:
            continue
        except OSError:
            break
        try:
            with open(number_of_file, "wb") as target, open(path, "rb") as source:
                shutil.copyfileobj(source, target)
        except OSError:
            os.unlink(to)
            break
        os.remove(path)
        return to
    return path


def _lines(path):
    """Returns the address of a spool file, and its requests: (call, path, body)."""
    try:
        with open(path, encoding="utf-8") as file:
            words = file.readline().split(" ", 2)
            if words[:2] != ["resmon-mlflow-spool", "1"] or len(words) != 3:
                raise FormatError(f"{path} is not a spool file of MLflow requests, or of another version")
            entries = [json.loads(line[2:]) for line in file]
        address = json.loads(words[2])
        if not isinstance(address.get("run_id"), str):
            raise FormatError(f"{path} does not have the address of a run")
        return address, [(entry["call"], entry["path"], entry["body"]) for entry in entries]
    except OSError as error:
        raise (NotFoundError if isinstance(error, FileNotFoundError) else InputOutputError)(
            f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the spool file {path} is garbled: {error}") from None


def _body(text):
    """Returns the members of a request, after the run's id."""
    return json.loads("{" + text if not text.startswith("{") else text)


def _run_of(client, address):
    if address["run_id"]:
        return address["run_id"]
    body = _body(address["create"])
    experiment = address["experiment_id"]
    if address["experiment"]:
        known = client.get_experiment_by_name(address["experiment"])
        experiment = known.experiment_id if known is not None else client.create_experiment(address["experiment"])
    tags = {tag["key"]: tag["value"] for tag in body["tags"]}
    uuid = address.get("uuid")
    made = client.search_runs([experiment or "0"], f"tags.`resmon.uuid` = '{uuid}'", max_results=1) if uuid else ()
    if made:  # by a delivery that came halfway
        return made[0].info.run_id
    return client.create_run(experiment or "0", body["start_time"], tags, body["run_name"]).info.run_id


def _log(client, run_id, body):
    from mlflow.entities import Metric, Param, RunTag
    client.log_batch(run_id, [Metric(m["key"], float(m["value"]), m["timestamp"], m["step"]) for m in body.get("metrics", ())],
                     [Param(p["key"], p["value"]) for p in body.get("params", ())],
                     [RunTag(t["key"], t["value"]) for t in body.get("tags", ())])


def _deliver(uri, path):
    """Delivers a spool file; returns the id of the run and the number of requests."""
    from .frames import wanted
    address, entries = _lines(path)
    client_of = wanted("mlflow", f"a run in {uri}").MlflowClient
    try:
        client = client_of(tracking_uri=uri)
        run_id = _run_of(client, address)
        for call, place, text in entries:
            _CALLS[call](client, run_id, place, text)
    except Exception as error:  # pylint: disable=broad-except
        raise RemoteError(f"mlflow: the store {uri} refused the results: {type(error).__name__}: {error}") from error
    return run_id, len(entries)


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
    "log-batch": lambda client, run_id, place, text: _log(client, run_id, _body(text)),
    "params": lambda client, run_id, place, text: _log_params(client, run_id, _body(text)),
    "artifact": lambda client, run_id, place, text: client.log_text(run_id, text, place),
    "set-tag": lambda client, run_id, place, text: _describe(client, run_id, _body(text)),
    "update": lambda client, run_id, place, text: _update(client, run_id, _body(text)),
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


# ---- runs that are there, and files ---------------------------------------------------------------


def push(run: Recorded, **options: Any) -> None:
    """Sends an existing run to MLflow: a document, or the recording of a killed job.

    Returns when the run is sent or stored in a spool file. RemoteError: the store refused the data.

    :param run: a run or a stopped monitor
    :param options: options of ``Monitor(mlflow={...})``
    """
    options = resolved(options)
    store = Store(options) if is_store(options) else None
    lib.run_push_mlflow_text(run._get_run(), sink_text("mlflow", options if store is None else store.options))
    if store is not None:
        store.deliver()


def replay(path: Path, **options: Any) -> dict[str, int | str]:
    """Sends the data of a spool file, which an unavailable server did not receive.

    Returns {"requests": ..., "sent": ..., "refused": ..., "run_id": ...}. NotFoundError: there is no such file.
    FormatError: it is not a spool file.

    :param options: options of ``Monitor(mlflow={...})``
    """
    options, path = resolved(options), os.fsdecode(encoded(path, "path") or b"")
    if is_store(options):
        run_id, count = _deliver(options["tracking_uri"], path)
        os.remove(path)
        return {"requests": count, "sent": count, "refused": 0, "run_id": run_id}
    return MlflowReplayInfo.read(lib.mlflow_replay_text, os.fsencode(path), sink_text("mlflow", options)).to_dict()
