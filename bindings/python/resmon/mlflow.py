# SPDX-License-Identifier: MIT
"""MLflow: to the active run of the mlflow package when there is one, through the library's own sink."""
import os
import sys
from ctypes import byref

from . import _abi
from ._library import encoded, lib
from .errors import ArgumentError


def _active():
    """Run and server of the mlflow package, if the program uses it."""
    package = sys.modules.get("mlflow")
    if package is None or not hasattr(package, "active_run"):
        return {}
    run, uri = package.active_run(), package.get_tracking_uri()
    if run is None:
        # Where a run would go if the program started one.
        return {"tracking_uri": uri} if str(uri).startswith(("http://", "https://")) else {}
    if not str(uri).startswith(("http://", "https://")):
        raise ArgumentError(f"mlflow: the active run {run.info.run_id} is kept in {uri}, and results can be sent to a server "
                            "only: start one over the same store (mlflow server --backend-store-uri "
                            f"{uri}), and mlflow.set_tracking_uri('http://127.0.0.1:5000')")
    return {"tracking_uri": uri, "run_id": run.info.run_id}


def resolved(value):
    """Options of the sink from what a user gave: True, an URI or a dict."""
    if value is True:
        return _active()
    if isinstance(value, dict):
        return {**(_active() if "run_id" not in value and "tracking_uri" not in value else {}), **value}
    return {"tracking_uri": value}


def push(run, **options):
    """Sends a run that is there to MLflow: a document, or the recording of a job that was killed.  Options are those
    of ``Monitor(mlflow={...})``; blocks until it is sent or put away."""
    from .sinks import options_of
    kept = []
    lib.run_push_mlflow(run._get_run(), byref(options_of("mlflow", options, kept)))


def replay(path, **options):
    """Sends what a spool file holds, as a server that could not be reached has missed it; {"sent": ..., ...}."""
    from .sinks import options_of
    kept, info = [], _abi.MlflowReplayInfo()
    lib.mlflow_replay(encoded(os.fspath(path), "path"), byref(options_of("mlflow", options, kept)), byref(info))
    return {"requests": info.requests, "sent": info.sent, "refused": info.refused, "run_id": info.run_id.decode()}
