# SPDX-License-Identifier: MIT
"""Faults of spool files, and of those who send them: cut, garbled, full, planted, interrupted, contended."""
import os
import shutil
import subprocess

from mlflow_rig import SLACK_S, Skipped, case, check_clean, check_settled, expected, runs_of
from server import free_port


def spooled(case, *words, port=None):
    """A spool file of a run whose server was down; the server's port."""
    port = port or free_port()
    case.live(f"http://127.0.0.1:{port}", *words).expect("stop", "RESMON_ENET")
    path, = case.spools()
    return path, port


@case()
def spool_is_beside_others(case):
    """A second run does not write over what waits."""
    path, port = spooled(case, "spool=kept.spool")
    first = path.read_bytes()
    case.live(f"http://127.0.0.1:{port}", "spool=kept.spool").expect("stop", "RESMON_ENET", "kept.spool.1")
    assert path.read_bytes() == first and len(case.spools()) == 2
    fake = case.fake(port=port)
    case.replay(None)
    state = fake.state()
    check_clean(state)
    assert [run["info"]["status"] for run in runs_of(state)] == ["FINISHED"] * 2


@case()
def one_spool_path_for_many(case):
    """Programs that end together with one path keep a file each."""
    port, count = free_port(), 12
    children = [case.popen(f"http://127.0.0.1:{port}", "run", "spool=kept.spool", "stop=60000") for _ in range(count)]
    for child in children:
        case.result(child).expect("stop", "RESMON_ENET", "kept.spool")
    assert len(case.spools()) == count, f"{len(case.spools())} files of {count}"
    assert list(case.directory.glob("*.tmp")) == []
    fake = case.fake(port=port)
    case.replay(None)
    state = fake.state()
    check_clean(state)
    assert [run["info"]["status"] for run in runs_of(state)] == ["FINISHED"] * count


@case()
def planted_link(case):
    """Nothing is written through a link; what waits is beside it."""
    for target in ("nothing-there", "victim"):
        (case.directory / "victim").write_text("precious", encoding="ascii")
        os.symlink(target, case.directory / f"{target}.spool")
        result = case.run(f"http://127.0.0.1:{free_port()}", "run", f"spool={target}.spool")
        if result["add"]["status"] == "RESMON_OK":
            result.expect("stop", "RESMON_ENET", f"{target}.spool.1")
        else:
            result.expect("add", "RESMON_EINVAL", f"{target}.spool", "not a regular file")
        assert not (case.directory / "nothing-there").exists()
        assert (case.directory / "victim").read_text(encoding="ascii") == "precious"
        case.run(None, "replay", f"{target}.spool").expect("replay", "RESMON_EFORMAT", "link")


@case()
def link_planted_later(case):
    """The path was free when the sink was added."""
    child = case.popen(f"http://127.0.0.1:{free_port()}", "run", "spool=kept.spool", "work=3000")
    while '"start"' not in child.stdout.readline():
        assert child.poll() is None
    os.symlink("nothing-there", case.directory / "kept.spool")
    case.result(child).expect("stop", "RESMON_ENET", "kept.spool.1")
    assert not (case.directory / "nothing-there").exists()
    os.unlink(case.directory / "kept.spool")
    assert len(case.spools()) == 1


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
    result = case.live(f"http://127.0.0.1:{free_port()}", "series", "work=300", "spool=full/kept.spool",
                       wrapper=wrapper)
    result.expect("stop", "RESMON_ENOSPC", "could not be kept", "full/kept.spool", "No space left")


@case()
def read_only_directory(case):
    wrapper = mounted(case, "ro")
    result = case.run(f"http://127.0.0.1:{free_port()}", "run", "spool=full/kept.spool", wrapper=wrapper)
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


# ---- spoilt files ------------------------------------------------------------------------------------

NO_RETRY = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}


def spoilt(case, mode):
    path, _ = spooled(case, "no_artifact")
    size = path.stat().st_size
    result = case.run(None, mode, path, env=NO_RETRY)
    assert result["spoilt_all"]["count"] == size
    for line in result.lines:
        if line["what"] == "spoilt":
            assert line["status"] in ("RESMON_ENET", "RESMON_EFORMAT", "RESMON_EINVAL"), line
            assert line["is_there"] == 1, f"removed, and not sent: {line}"
    return result


@case()
def spool_cut_at_every_byte(case):
    """With a head that is not whole, nothing is asked of a server."""
    result = spoilt(case, "cut")
    found = [(line["status"], line["bytes"]) for line in result.lines if line["what"] == "spoilt"]
    path, = [p for p in case.spools() if not p.name.endswith("spoilt")]
    head = path.read_bytes().index(b"\n") + 1
    assert found == [("RESMON_EFORMAT", 0), ("RESMON_ENET", head)], found


@case()
def spool_garbled_at_every_byte(case):
    spoilt(case, "garble")


@case()
def cut_spool_is_sent_as_far_as_it_is_whole(case):
    path, port = spooled(case, "series", "batch=60")
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    fake = case.fake(port=port)
    wanted = expected(case, "series")
    places = {min(len(whole) - 1, end + d) for end in ends for d in (-1, 0, 1)} | set(range(0, len(whole), 4099))
    for at in sorted(places):
        spool = case.directory / "cut.spool"
        spool.write_bytes(whole[:at])
        os.chmod(spool, 0o600)
        result = case.run(None, "replay", spool)
        if at in ends:
            result.expect("replay", "RESMON_OK")
            assert not spool.exists()
            continue
        result.expect("replay", "RESMON_EFORMAT", "cut.spool")
        assert spool.exists(), f"cut at {at}: removed"
        entries = max(0, sum(end <= at for end in ends) - 1)
        assert result["replay"]["sent"] == entries, f"cut at {at}: {result['replay']}"
        spool.unlink()
    case.replay(None)
    check_settled(fake.state(), wanted)


@case()
def no_spool_file(case):
    case.run(None, "replay", "absent.spool").expect("replay", "RESMON_ENOENT", "absent.spool")
    assert case.run(None, "replay", ".")["replay"]["status"] != "RESMON_OK"
    for name, text in {"empty": b"", "text": b"hello\n" * 9, "binary": bytes(range(256)) * 9,
                       "future": b"resmon-mlflow-spool 2 {}\n"}.items():
        (case.directory / name).write_bytes(text)
        case.run(None, "replay", name).expect("replay", "RESMON_EFORMAT", name)
        assert (case.directory / name).read_bytes() == text


# ---- contended and interrupted -----------------------------------------------------------------------


@case()
def second_replay(case):
    path, port = spooled(case)
    fake = case.fake(port=port)
    fake.faults({"do": "hang", "path": "log-batch", "first": 1, "seconds": 300})
    first = case.popen(None, "replay", path, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
    fake.until(lambda state: state["faults"][0]["fired"])
    case.run(None, "replay", path).expect("replay", "RESMON_EBUSY", "another process", str(path))
    fake.lift()
    case.result(first).expect("replay", "RESMON_OK")
    check_settled(fake.state(), expected(case))


@case()
def replays_of_one_job_at_once(case):
    """Files of all nodes of a job, sent together: one run."""
    port, count = free_port(), 6
    for node in range(count):
        case.run(f"http://127.0.0.1:{port}", "run", f"spool=node{node}.spool", "stop=1500",
                 env=node_of_job(node, count))
    assert len(case.spools()) == count
    fake = case.fake(port=port)
    children = [case.popen(None, "replay", path) for path in case.spools()]
    for child in children:
        case.result(child).expect("replay", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    run, = runs_of(state)
    assert run["info"]["status"] == "FINISHED"
    assert {p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds"} == set(range(count))


def node_of_job(node, count):
    return {"RESMON_JOB_ID": f"test-{os.getpid()}-{count}", "RESMON_RANK": str(node), "RESMON_RANKS": str(count),
            "RESMON_NODE_ID": str(node), "RESMON_NODES": str(count), "RESMON_NODE_NAME": f"n{node}",
            "RESMON_LOCAL_RANK": "0"}


def interrupted(case, rule):
    """Killed at the k-th request, for every k, and sent again."""
    path, port = spooled(case, "series", "batch=100")
    whole = path.read_bytes()
    path.unlink()
    fake = case.fake(port=port)
    wanted = expected(case, "series")
    spool = case.directory / "killed.spool"
    for k in range(1, 100):
        fake.reset()
        spool.write_bytes(whole)
        os.chmod(spool, 0o600)
        fake.faults({**rule, "nth": k, "seconds": 300})
        child = case.popen(None, "replay", spool, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
        done = case.kill_at_fault(fake, child)
        fake.faults()
        case.replay(None)
        check_settled(fake.state(), wanted)
        if done:
            assert k > 8, f"only {k} requests"
            return
    raise AssertionError("it never came to an end")


case("replay killed at every request, before the server acts")(
    lambda c: interrupted(c, {"do": "hang", "when": "before"}))
case("replay killed at every request, after the server acted")(
    lambda c: interrupted(c, {"do": "hang", "when": "answer"}))


@case()
def replay_killed_again_and_again(case):
    path, port = spooled(case, "series", "batch=100")
    fake = case.fake(port=port)
    for _ in range(100):
        fake.faults({"do": "hang", "when": "answer", "path": "2.0/mlflow", "nth": 3, "seconds": 300})
        child = case.popen(None, "replay", path, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
        if case.kill_at_fault(fake, child):
            break
    fake.faults()
    case.replay(None)
    check_settled(fake.state(), expected(case, "series"))


@case()
def replay_within_its_budget(case):
    path, port = spooled(case)
    fake = case.fake(port=port)
    fake.faults({"do": "hang", "seconds": 100})
    line = case.run(None, "replay", path, "budget=700", env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})["replay"]
    assert line["status"] == "RESMON_ETIMEDOUT" and line["seconds"] < 0.7 + SLACK_S, line
    assert path.exists()
