# SPDX-License-Identifier: MIT
"""The documents of runs that were not sent: where they are written, and faults of those who push them."""
import os
import pathlib
import shutil
import subprocess

from mlflow_rig import SLACK_S, Skipped, case, check_clean, check_once, check_settled, expected, runs_of
from server import free_port


def unsent(case, *words):
    """The document of a run whose server was down; the URI of the server."""
    uri = f"http://127.0.0.1:{free_port()}"
    case.live(uri, *words).expect("stop", "RESMON_ENET")
    path, = case.kept()
    return path, uri


def port_of(uri):
    return int(uri.rpartition(":")[2])


@case()
def document_is_beside_others(case):
    """A second run does not write over what waits."""
    path, uri = unsent(case, "spool=kept.json")
    first = path.read_bytes()
    case.live(uri, "spool=kept.json").expect("stop", "RESMON_ENET", "kept.json")
    assert [name for name in case.kept() if name.read_bytes() == first] == [case.directory / "kept.json.1"]
    fake = case.fake(port=port_of(uri))
    case.push_kept(fake.uri)
    state = fake.state()
    check_clean(state)
    assert [run["info"]["status"] for run in runs_of(state)] == ["FINISHED"] * 2


@case()
def nothing_is_sent_where_that_is_wanted(case):
    """It needs no server; the document has the settings."""
    case.live(None, "spool_only", "series", "run_name=later", env={"MLFLOW_EXPERIMENT_NAME": "offline"}).expect(
        "stop", "RESMON_OK")
    fake = case.fake()
    case.run(fake.uri, "push", "run.json", "spool_only").expect("push", "RESMON_EINVAL", "spool_only")
    case.push_kept(fake.uri, env={"MLFLOW_EXPERIMENT_NAME": None})
    run, = runs_of(fake.state(), "offline")
    assert run["info"]["run_name"] == "later" and run["info"]["status"] == "FINISHED", run["info"]
    assert any(point["key"].startswith("system/node_0/") for point in run["points"])


@case()
def planted_link(case):
    """Nothing is written through a link."""
    for target in ("nothing-there", "victim"):
        (case.directory / "victim").write_text("precious", encoding="ascii")
        os.symlink(target, case.directory / f"{target}.json")
        result = case.run(f"http://127.0.0.1:{free_port()}", "run", f"spool={target}.json")
        if result["add"]["status"] == "RESMON_OK":
            result.expect("stop", "RESMON_EINVAL", "could not be kept", "not a regular file")
            (case.directory / f"{target}.json").unlink()
        else:
            result.expect("add", "RESMON_EINVAL", f"{target}.json", "not a regular file")
        assert not (case.directory / "nothing-there").exists()
        assert (case.directory / "victim").read_text(encoding="ascii") == "precious"


@case()
def link_planted_later(case):
    """The path was free when the sink was added."""
    child = case.popen(f"http://127.0.0.1:{free_port()}", "run", "spool=kept.json", "work=3000")
    while '"start"' not in child.stdout.readline():
        assert child.poll() is None
    os.symlink("nothing-there", case.directory / "kept.json")
    case.result(child).expect("stop", "RESMON_EINVAL", "could not be kept", "kept.json", "not a regular file")
    assert not (case.directory / "nothing-there").exists()
    (case.directory / "kept.json").unlink()


MOUNT = 'mkdir -p full && mount -t tmpfs -o "$0" none full && exec "$@"'


def mounted(case, options):
    """A wrapper that gives the program a file system of its own at ./full."""
    wrapper = ["unshare", "-m", "sh", "-c", MOUNT, options]
    if shutil.which("unshare") is None or \
            subprocess.run([*wrapper, "true"], capture_output=True, check=False, cwd=case.directory).returncode != 0:
        raise Skipped("no right to mount: unshare -m")
    return wrapper


@case()
def full_disk(case):
    wrapper = mounted(case, "size=8k")
    result = case.live(f"http://127.0.0.1:{free_port()}", "series", "work=300", "spool=full/kept.json",
                       wrapper=wrapper)
    result.expect("stop", "RESMON_ENOSPC", "could not be kept", "full/kept.json", "No space left")


@case()
def read_only_directory(case):
    wrapper = mounted(case, "ro")
    result = case.run(f"http://127.0.0.1:{free_port()}", "run", "spool=full/kept.json", wrapper=wrapper)
    line = result["add"]
    assert line["status"] != "RESMON_OK" and "cannot write to the directory" in line["text"], line
    result.expect("stop", "RESMON_OK")


@case()
def read_only_directory_by_default(case):
    """It is of interest once something must be kept, and not before."""
    wrapper = mounted(case, "ro")
    wrapper[4] = wrapper[4].replace("exec", "cd full && exec")
    fake = case.fake()
    case.run(fake.uri, "run", wrapper=wrapper).expect("stop", "RESMON_OK")
    fake.faults({"do": "status", "status": 503})
    line = case.run(fake.uri, "run", "stop=1500", wrapper=wrapper)["stop"]
    assert "could not be kept" in line["text"] and "503" in line["text"], line


# ---- documents that are sent -------------------------------------------------------------------------

WAITS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"}
# The requests of a push, in their order: a part of the path, and which of these it is.
POSITIONS = {"the experiment": ("experiments/create", 1), "the search": ("runs/search", 1), "the run": ("runs/create", 1),
             "the summary": ("log-batch", 1), "the series": ("log-batch", 2), "the document": ("artifacts", 1),
             "the description": ("runs/set-tag", 1), "the end": ("runs/update", 1)}


def interrupted(case, when):
    """Killed at each request, and sent again: all of it is there, and once."""
    path, uri = unsent(case, "series", "batch=100")
    fake = case.fake(port=port_of(uri))
    wanted = expected(case, "series")
    for position, (part, nth) in POSITIONS.items():
        fake.reset()
        fake.faults({"do": "hang", "when": when, "path": part, "nth": nth, "seconds": 300})
        child = case.popen(uri, "push", path, "batch=100", env=WAITS)
        assert not case.kill_at_fault(fake, child), f"no request for {position}"
        fake.faults()
        case.run(uri, "push", path, "batch=100").expect("push", "RESMON_OK")
        state = fake.state()
        check_settled(state, wanted)
        check_once(state)


case("push killed at each request, before the server acts")(lambda c: interrupted(c, "before"))
case("push killed at each request, after the server acted")(lambda c: interrupted(c, "answer"))


@case()
def push_killed_again_and_again(case):
    path, uri = unsent(case, "series", "batch=100")
    fake = case.fake(port=port_of(uri))
    for _ in range(100):
        fake.faults({"do": "hang", "when": "answer", "path": "2.0/mlflow", "nth": 4, "seconds": 300})
        child = case.popen(uri, "push", path, "batch=100", env=WAITS)
        if case.kill_at_fault(fake, child):
            break
    fake.faults()
    case.push_kept(uri)
    check_settled(fake.state(), expected(case, "series"))
    check_once(fake.state())


@case()
def pushed_twice(case):
    """A document that no sink had to do with, too, goes to one run."""
    _, uri = unsent(case, "series")
    fake = case.fake(port=port_of(uri))
    case.run(None, "run", "save=own.json", env={"MLFLOW_TRACKING_URI": None})
    for name, runs in (("run.json", 1), ("own.json", 2)):
        for _ in range(2):
            case.run(uri, "push", name, "series").expect("push", "RESMON_OK")
            assert len(runs_of(fake.state())) == runs
    check_once(fake.state())


@case()
def merged_run_is_pushed_twice(case):
    """The points of its nodes are steps of one key."""
    fake = case.fake()
    golden = pathlib.Path(__file__).parent.parent / "golden/runs/merged.json"
    for _ in range(2):
        case.run(fake.uri, "push", golden).expect("push", "RESMON_OK")
        assert len(runs_of(fake.state())) == 1
    check_once(fake.state())


@case()
def server_that_dies_between_two_requests(case):
    path, uri = unsent(case, "series", "batch=100")
    fake = case.fake(port=port_of(uri))
    wanted = expected(case, "series")
    fake.faults({"do": "close", "when": "before", "path": "log-batch", "every": 1},
                {"do": "close", "when": "before", "path": "runs/update"})
    case.run(uri, "push", path, "batch=100").expect("push", "RESMON_ENET")
    fake.faults({"do": "close", "when": "before", "path": "artifacts"})
    case.run(uri, "push", path, "batch=100").expect("push", "RESMON_ENET")
    fake.faults()
    case.push_kept(uri)
    check_settled(fake.state(), wanted)
    check_once(fake.state())


@case()
def server_that_answers_after_the_deadline(case):
    """It has done what was asked; the program could not know."""
    fake = case.fake()
    fake.faults({"do": "hang", "when": "answer", "path": "log-batch", "nth": 2, "seconds": 300})
    result = case.live(fake.uri, "series", "batch=100", stop=4000,
                       env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"})
    result.expect("stop", "RESMON_ETIMEDOUT", "resmon push")
    fake.faults()
    fake.lift()
    fake.until(lambda state: all(r["status"] is not None for r in state["requests"]))
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case, "series"))
    check_once(fake.state())


def node_of_job(node, count):
    return {"RESMON_JOB_ID": f"test-{os.getpid()}-{count}", "RESMON_RANK": str(node), "RESMON_RANKS": str(count),
            "RESMON_NODE_ID": str(node), "RESMON_NODES": str(count), "RESMON_NODE_NAME": f"n{node}",
            "RESMON_LOCAL_RANK": "0"}


@case()
def pushes_of_one_job_at_once(case):
    """Documents of all nodes of a job, sent together, and once more: one run, and each point once."""
    port, count = free_port(), 6
    for node in range(count):
        case.run(f"http://127.0.0.1:{port}", "run", f"spool=node{node}.json", "stop=1500",
                 env=node_of_job(node, count))
    assert len(case.kept()) == count
    fake = case.fake(port=port)
    for _ in range(2):
        children = [case.popen(fake.uri, "push", path) for path in case.kept()]
        for child in children:
            case.result(child).expect("push", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    check_once(state)
    run, = runs_of(state)
    assert run["info"]["status"] == "FINISHED"
    assert {p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds"} == set(range(count))


@case()
def push_within_its_budget(case):
    path, uri = unsent(case)
    fake = case.fake(port=port_of(uri))
    fake.faults({"do": "hang", "seconds": 100})
    line = case.run(uri, "push", path, "budget=700", env=WAITS)["push"]
    assert line["status"] == "RESMON_ETIMEDOUT" and line["seconds"] < 0.7 + SLACK_S, line
