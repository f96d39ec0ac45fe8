#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command against a real MLflow server on loopback.

mlflow_server.py [--python] COMMAND...

COMMAND gets MLFLOW_TRACKING_URI, NO_PROXY and RESMON_MLFLOW_PYTHON (an interpreter that has mlflow); with
--python it is a script for that interpreter.  Its exit status is ours.  The server is new, and ends with
us however we end.

MLflow comes from PyPI into build/mlflow-venv, or the directory RESMON_MLFLOW_VENV, once: what tests/locks/mlflow.in says.
77: it cannot be had here.
"""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live  # noqa: E402: the directory first
from locked import Environments, skip  # noqa: E402

READY_SECONDS = 120
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "NO_PROXY": "127.0.0.1,localhost",
         "no_proxy": "127.0.0.1,localhost", "GIT_PYTHON_REFRESH": "quiet"}


# ---- the environment with mlflow ---------------------------------------------------------------------


def venv_directory():
    named = os.environ.get("RESMON_MLFLOW_VENV")
    return pathlib.Path(named or pathlib.Path(__file__).resolve().parents[2] / "build/mlflow-venv").absolute()


def interpreter():
    """Python with what tests/locks/mlflow.txt lists."""
    if sys.version_info < (3, 11):
        skip("tests/locks/mlflow.txt is for Python 3.11 or newer; RESMON_PYTHON names the interpreter")
    directory = venv_directory()
    return Environments(directory.parent).environment(directory.name, sys.executable, "mlflow")


# ---- the server --------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_ready(port):
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return answer.read() == b"OK"
    except OSError:
        return False


def launch(python, directory, port):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    environment.update(QUIET, MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")
    with open(f"{directory}/log", "wb") as log:
        return subprocess.Popen(
            [python, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{directory}/mlflow.db",
             "--artifacts-destination", f"{directory}/artifacts", "--host", "127.0.0.1", "--port", str(port),
             "--workers", "1"],
            cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)


def keep(python, directory, port, life, is_lasting):
    """The life of the process between us and the server: it ends the server, and all that the server
    started, when `life` is closed; thus also when we are killed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    server = launch(python, directory, port)
    while not select.select([life], [], [], 0.2)[0]:
        if server.poll() is not None:
            os._exit(1)
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(patience)
    if not is_lasting:
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


@contextlib.contextmanager
def server(python, directory=None, port=None):
    """(its port, the directory with its log); a directory that is given lasts, for a later server."""
    is_lasting = directory is not None
    directory = directory or tempfile.mkdtemp(prefix="resmon-mlflow-")
    os.makedirs(f"{directory}/artifacts", exist_ok=True)
    port = port or free_port()
    life, ours = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(ours)
        keep(python, directory, port, life, is_lasting)
    os.close(life)
    try:
        end = time.monotonic() + READY_SECONDS
        while not is_ready(port):
            if time.monotonic() > end or os.waitpid(keeper, os.WNOHANG) != (0, 0):
                keeper = keeper if time.monotonic() > end else None
                sys.exit(f"the MLflow server does not start:\n{tail(directory)}")
            time.sleep(0.1)
        yield port, directory
    finally:
        os.close(ours)
        if keeper is not None:
            os.waitpid(keeper, 0)


def tail(directory, lines=30):
    """The end of the server's log, less what went well."""
    words = pathlib.Path(directory, "log").read_text(errors="replace").splitlines()
    return "\n".join([line for line in words if '" 200' not in line][-lines:])


def run(python, command):
    with server(python) as (port, directory):
        environment = {**os.environ, **QUIET, "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}",
                       "RESMON_MLFLOW_PYTHON": str(python)}
        process = subprocess.Popen(command, env=environment)
        try:
            status = process.wait()
        finally:
            process.kill()
        if status not in (0, 77):
            print(f"exit status {status}; the server's log:\n{tail(directory)}", file=sys.stderr, flush=True)
        return status if status >= 0 else 128 - status


def main(words):
    with_python = words[:1] == ["--python"]
    command = words[1:] if with_python else words
    if not command:
        sys.exit(__doc__)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    needs_live("mlflow_server", "MLflow, from PyPI")
    python = interpreter()
    return run(python, [str(python), *command] if with_python else command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
