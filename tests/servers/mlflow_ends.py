# SPDX-License-Identifier: MIT
"""How programs end, as their runs in MLflow show it; and runs that were begun and are gone on with later."""
import os
import pathlib
import signal
import subprocess
import sys

from mlflow_rig import EXPERIMENT, QUICK, Case, Skipped, case, check_clean, is_sanitized, runs_of

RECORD = "mlflow,record=run.rec,interval=10ms,stop_timeout=2min"

# How the program ends: its words, the signal that it is sent, the keys beside RECORD, and what is seen: its exit
# code, and the status of its run in MLflow.
WAYS = {
    "by itself": (["work=30"], None, "", 0, "FINISHED"),
    "with an exit status": (["work=30", "code=3"], None, "", 3, "FAILED"),
    "by SIGTERM": (["work=60000"], signal.SIGTERM, ",signals", -signal.SIGTERM, "KILLED"),
    "by SIGINT": (["work=60000"], signal.SIGINT, ",signals", -signal.SIGINT, "KILLED"),
    # Nothing of it can be said at the time.
    "by SIGTERM without the key": (["work=60000"], signal.SIGTERM, "", -signal.SIGTERM, "RUNNING"),
    "by SIGKILL": (["work=60000"], signal.SIGKILL, ",signals", -signal.SIGKILL, "RUNNING"),
}
# And once its recording was pushed.
LATER = {"RUNNING": "KILLED"}


def end(case, fake, words, number, keys, code, env=None):
    child = case.popen(fake.uri, "plain", *words, env={"RESMON": RECORD + keys, **(env or {})})
    if number is not None:
        # The run is made, and the recording knows it.
        fake.until(lambda state: runs_of(state) and (case.directory / "run.rec").exists() and
                   b"mlflow_run\0" in (case.directory / "run.rec").read_bytes(), 60)
        child.send_signal(number)
    result = case.result(child)
    assert result.code == code, (result.code, result.errors)
    return result


def push(case, uri, path="run.rec", **env):
    result = case.run(uri, "push", path, env=env)
    result.expect("push", "RESMON_OK")


def only_run(fake, experiment=EXPERIMENT):
    state = fake.state()
    check_clean(state)
    run, = runs_of(state, experiment)
    return run


def check_way(case, way):
    words, number, keys, code, status = WAYS[way]
    fake = case.fake()
    end(case, fake, words, number, keys, code)
    assert only_run(fake)["info"]["status"] == status
    for _ in range(2):  # again is no second run, either
        push(case, fake.uri)
        run = only_run(fake)
        assert run["info"]["status"] == LATER.get(status, status), run["info"]
        assert any(point["key"] == "system/resmon/run/wall_seconds" for point in run["points"])
        assert run["params"].get("resmon.version"), "it was ours to begin, and is ours to end"
        assert "resmon/run.json" in run["artifacts"]


for name in WAYS:
    case(f"a program that ends {name}")(lambda case, way=name: check_way(case, way))


# Programs of Python, where "import resmon" is all that they know of it.
PYTHON_WAYS = {
    "by itself": ("", 0, "FINISHED"),
    "by an exception": ("raise ValueError('no column')", 1, "FAILED"),
    "by sys.exit(3)": ("import sys; sys.exit(3)", 3, "FAILED"),
    "by os._exit(0)": ("import os; os._exit(0)", 0, "FINISHED"),
    "by os._exit(4)": ("import os; os._exit(4)", 4, "FAILED"),
    "by Ctrl-C": ("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT, "KILLED"),
    "by SIGTERM": ("import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM,
                   "KILLED"),
    "out of a monitor's block": ("with resmon.Monitor(mlflow=True): 1 / 0", 1, "FAILED"),
}


def check_python(case, way):
    source, code, status = PYTHON_WAYS[way]
    libraries = [folder / "libresmon.so.0" for folder in pathlib.Path(Case.program).parents]
    library = next((path for path in libraries if path.exists()), None)
    if library is None or is_sanitized(library):
        raise Skipped("no shared library that Python can load")
    fake = case.fake()
    package = pathlib.Path(__file__).resolve().parents[2] / "bindings/python"
    env = case.environment(fake.uri, {"RESMON": None if "Monitor" in source else "mlflow,stop_timeout=2min",
                                      "PYTHONPATH": str(package), "RESMON_LIBRARY": str(library)})
    done = subprocess.run([sys.executable, "-B", "-c", f"import resmon\n{source}"], cwd=case.directory, env=env,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    case.outputs.append(done.stderr)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert only_run(fake)["info"]["status"] == status


for name in PYTHON_WAYS:
    case(f"a program of Python that ends {name}")(lambda case, way=name: check_python(case, way))


@case()
def killed_before_the_answer(case):
    """The server has made the run, and nobody was told: its tag was put down before."""
    fake = case.fake()
    fake.faults({"do": "hang", "when": "answer", "path": "runs/create", "seconds": 60})
    child = case.popen(fake.uri, "plain", "work=60000",
                       env={"RESMON": RECORD, "MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
    fake.until(lambda state: runs_of(state) and (case.directory / "run.rec").exists(), 60)
    assert not case.kill_at_fault(fake, child)
    fake.faults()
    push(case, fake.uri)
    assert only_run(fake)["info"]["status"] == "KILLED"


@case()
def killed_and_pushed_from_elsewhere(case):
    """Who pushes names no experiment: the recording knows which."""
    fake = case.fake()
    end(case, fake, *WAYS["by SIGKILL"][:4])
    push(case, fake.uri, MLFLOW_EXPERIMENT_NAME=None)
    assert only_run(fake)["info"]["status"] == "KILLED"
    # Another experiment, or server, has its own run of it.
    push(case, fake.uri, MLFLOW_EXPERIMENT_NAME="another")
    assert only_run(fake, "another")["info"]["status"] == "KILLED"
    other = case.fake()
    for _ in range(2):
        push(case, other.uri)
        assert only_run(other)["info"]["status"] == "KILLED"


@case()
def a_document_is_gone_on_with(case):
    """What was sent at the end is sent to the same run again, and no second one is made."""
    fake = case.fake()
    result = case.run(fake.uri, "plain", "work=30", env={"RESMON": "mlflow,json=run.json"})
    assert "resmon" not in result.errors or "MLflow:" in result.errors
    push(case, fake.uri, "run.json")
    assert only_run(fake)["info"]["status"] == "FINISHED"


@case()
def a_run_that_was_deleted(case):
    fake = case.fake()
    end(case, fake, *WAYS["by SIGKILL"][:4])
    first = only_run(fake)["info"]["run_id"]
    fake.post("runs/delete", run_id=first)
    push(case, fake.uri)
    state = fake.state()
    runs = {run["info"]["run_id"]: run["info"] for run in runs_of(state)}
    assert len(runs) == 2 and runs[first]["lifecycle_stage"] == "deleted"
    assert [info["status"] for run_id, info in runs.items() if run_id != first] == ["KILLED"]


@case()
def a_run_that_it_was_attached_to(case):
    """It is somebody else's, who ends it; but the results of the program belong there, now and later."""
    fake = case.fake()
    experiment = fake.post("experiments/create", name=EXPERIMENT)["experiment_id"]
    theirs = fake.post("runs/create", experiment_id=experiment, start_time=1700000000000)["run"]["info"]["run_id"]
    words = WAYS["by SIGKILL"][0]
    child = case.popen(fake.uri, "plain", *words, env={"RESMON": RECORD, "MLFLOW_RUN_ID": theirs})
    fake.until(lambda state: (case.directory / "run.rec").exists() and
               b"mlflow_attached\0" in (case.directory / "run.rec").read_bytes(), 60)
    child.kill()
    case.result(child)
    push(case, fake.uri)
    run = only_run(fake)
    assert run["info"]["run_id"] == theirs and run["info"]["status"] == "RUNNING"
    assert any(point["key"] == "system/resmon/run/wall_seconds" for point in run["points"])


@case()
def a_job_that_was_killed(case):
    """Rank 0 has made the run of all, and its recording ends it."""
    fake = case.fake()
    children = []
    for rank in range(2):
        env = {"RESMON_JOB_ID": f"ends-{os.getpid()}", "RESMON_RANK": str(rank), "RESMON_RANKS": "2",
               "RESMON_NODE_ID": str(rank), "RESMON_NODES": "2", "RESMON_NODE_NAME": f"n{rank}",
               "RESMON_LOCAL_RANK": "0", **QUICK}
        children.append(case.popen(fake.uri, "plain", "work=60000", env={
            "RESMON": f"mlflow,record=run{rank}.rec,interval=10ms", **env}))
    fake.until(lambda _: all((case.directory / f"run{rank}.rec").exists() for rank in range(2)) and
               b"mlflow_run\0" in (case.directory / "run0.rec").read_bytes(), 60)
    for child in children:
        child.kill()
        case.result(child)
    push(case, fake.uri, "run1.rec")
    assert only_run(fake)["info"]["status"] == "RUNNING"
    push(case, fake.uri, "run0.rec")
    run = only_run(fake)
    assert run["info"]["status"] == "KILLED"
    assert {p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds"} == {0, 1}


@case()
def a_push_that_finds_no_server(case):
    """The recording is as it was, and is sent later, to the run that was begun."""
    fake = case.fake()
    end(case, fake, *WAYS["by SIGKILL"][:4])
    fake.faults({"do": "status", "status": 503})
    assert case.run(fake.uri, "push", "run.rec", "budget=1500")["push"]["status"] != "RESMON_OK"
    assert case.kept() == []
    fake.faults()
    push(case, fake.uri)
    assert only_run(fake)["info"]["status"] == "KILLED"
