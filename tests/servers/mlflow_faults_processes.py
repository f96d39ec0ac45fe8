# SPDX-License-Identifier: MIT
"""Programs that fork, exit and are killed while their results are on the way; jobs of many ranks; cables that
are pulled at each request."""
import concurrent.futures
import os
import time

from blackhole import Blackhole
from mlflow_rig import SLACK_S, case, check_clean, check_settled, expected, runs_of
from server import free_port

# ---- programs ----------------------------------------------------------------------------------------


@case()
def fork_while_sending(case):
    fake = case.fake()
    fake.faults({"do": "hang", "seconds": 0.2})
    # To LeakSanitizer, what was of threads that the child does not have is lost in the child.
    result = case.live(fake.uri, "series", "every=30", "work=500", "end=fork",
                       env={"ASAN_OPTIONS": "detect_leaks=0"})
    assert result["waited"]["code"] == 0
    result.expect("child", "RESMON_ESTATE")
    result.expect("stop", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    run, = runs_of(state)
    assert run["info"]["status"] == "FINISHED"
    # The child has our connections, too, and must say nothing on them.
    assert all(r["status"] in (200, 404) for r in state["requests"]), state["requests"]


@case()
def exit_while_sending(case):
    """Without stop: exit handlers of libraries run while the sink is in them."""
    fake = case.fake()
    fake.faults({"do": "hang", "when": "answer", "seconds": 0.4})
    for work in (1, 30, 200, 700):
        begin = time.monotonic()
        result = case.run(fake.uri, "run", "series", "every=20", f"work={work}", "end=exit")
        result.expect("start", "RESMON_OK")
        assert time.monotonic() - begin < work / 1e3 + 3 + SLACK_S
    fake.until(lambda state: all(r["status"] is not None for r in state["requests"]))
    state = fake.state()
    check_clean(state)
    assert len(runs_of(state)) <= 4


@case()
def exit_with_variable(case):
    """RESMON=mlflow: all is sent in an exit handler."""
    fake = case.fake()
    for end in ("stop", "exit"):
        fake.reset()
        fake.faults({"do": "hang", "seconds": 0.05})
        result = case.run(fake.uri, "plain", "work=100", f"end={end}",
                          env={"RESMON": "mlflow,json=run.json,interval=10ms,stop_timeout=1min"})
        assert "resmon push" not in result.errors, result.errors
        check_settled(fake.state(), expected(case))
        assert case.kept() == []


@case()
def exit_with_variable_and_no_server(case):
    """The program ends in the time that was given, with its own exit code, and says where the rest waits."""
    fake = case.fake()
    for rule in ({"do": "hang", "seconds": 100}, {"do": "status", "status": 503, "retry_after": 100}):
        fake.reset()
        fake.faults(rule)
        begin = time.monotonic()
        result = case.run(fake.uri, "plain", "work=50", env={
            "RESMON": "mlflow,json=run.json,interval=10ms,stop_timeout=4s", "MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
        assert time.monotonic() - begin < 4.05 + SLACK_S
        assert "mlflow" in result.errors and ".json" in result.errors, result.errors
        fake.faults()
        fake.lift()
        fake.until(lambda state: all(r["status"] is not None for r in state["requests"]))
        case.push_kept(fake.uri)
        check_settled(fake.state(), expected(case))


@case()
def killed_while_sending(case):
    fake = case.fake()
    for path in ("experiments/", "runs/create", "log-batch"):
        fake.reset()
        fake.faults({"do": "hang", "path": path, "seconds": 60})
        child = case.popen(fake.uri, "run", "series", "every=20", "work=60000",
                           env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
        assert not case.kill_at_fault(fake, child)
        state = fake.state()
        check_clean(state)
        assert len(runs_of(state)) <= 1
        assert case.kept() == []


@case()
def sink_that_hangs_does_not_slow_the_program(case):
    fake = case.fake()
    fake.faults({"do": "hang", "seconds": 100})
    begin = time.monotonic()
    result = case.live(fake.uri, "series", "every=10", "work=500", stop=4000, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
    assert time.monotonic() - begin < 4.5 + SLACK_S
    result.expect("stop", "RESMON_ETIMEDOUT", "no answer", ".json")


# ---- jobs --------------------------------------------------------------------------------------------

PER_NODE, AT_ONCE = 4, 64
RANKS = 1000 if "RESMON_TEST_LIVE" in os.environ else 120  # `test` has as many at once, for a shorter time


@case(alone=True)
def many_ranks(case):
    """One experiment, one run, and the figures of each node at its step, from the first rank of the node."""
    fake = case.fake()
    job = f"many-{os.getpid()}"

    def rank(number):
        node = number // PER_NODE
        env = {"RESMON_JOB_ID": job, "RESMON_RANK": str(number), "RESMON_RANKS": str(RANKS),
               "RESMON_NODE_ID": str(node), "RESMON_NODES": str(RANKS // PER_NODE), "RESMON_NODE_NAME": f"n{node:03}",
               "RESMON_LOCAL_RANK": str(number % PER_NODE), "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}
        result = case.run(fake.uri, "run", "interval=1000", "work=5", "stop=150000", env=env)
        result.expect("add", "RESMON_OK")
        result.expect("stop", "RESMON_OK")

    # The first rank is not the first to come.
    order = list(range(1, AT_ONCE)) + [0] + list(range(AT_ONCE, RANKS))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(rank, order))
    state = fake.state()
    check_clean(state)
    assert len(state["experiments"]) == 2, state["experiments"]
    assert len(state["runs"]) == 1, f"{len(state['runs'])} runs"
    run, = runs_of(state)
    nodes = RANKS // PER_NODE
    steps = sorted(p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds")
    assert steps == list(range(nodes)), f"{len(steps)} steps: {steps[:20]}"
    assert all(run["tags"].get(f"resmon.node.{n}") == f"n{n:03}" for n in range(nodes))
    assert len(run["artifacts"]) == nodes, run["artifacts"]
    assert run["info"]["status"] == "FINISHED" and run["params"]["resmon.job.ranks"] == str(RANKS)


def job_env(rank, ranks, job):
    return {"RESMON_JOB_ID": job, "RESMON_RANK": str(rank), "RESMON_RANKS": str(ranks), "RESMON_NODE_ID": str(rank),
            "RESMON_NODES": str(ranks), "RESMON_NODE_NAME": f"n{rank}", "RESMON_LOCAL_RANK": "0"}


@case()
def first_rank_never_comes(case):
    """The others wait in their stop, not longer, and keep what they have; it arrives with a push."""
    fake = case.fake()
    result = case.live(fake.uri, env=job_env(1, 2, f"lonely-{os.getpid()}"), stop=4000)
    result.expect("stop", "RESMON_ETIMEDOUT", "rank 0", "resmon push --mlflow")
    case.live(fake.uri, "spool=first.json", env=job_env(0, 2, f"lonely-{os.getpid()}")).expect("stop", "RESMON_OK")
    case.push_kept(fake.uri)
    run, = runs_of(fake.state())
    check_clean(fake.state())
    assert {p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds"} == {0, 1}


@case()
def rank_without_a_job(case):
    """A launcher that names no job: there is nothing to find the others by, and each has a run of its own."""
    fake = case.fake()
    env = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}
    case.live(fake.uri, env=env).expect("stop", "RESMON_OK")
    run, = runs_of(fake.state())
    check_clean(fake.state())
    assert run["info"]["status"] == "FINISHED" and run["points"]


@case()
def ranks_of_an_attached_run(case):
    fake = case.fake()
    number = fake.post("runs/create", experiment_id="0", start_time=1700000000000)["run"]["info"]["run_id"]
    for rank in (1, 0):
        env = {**job_env(rank, 2, f"attached-{os.getpid()}"), "MLFLOW_RUN_ID": number}
        case.live(fake.uri, env=env).expect("stop", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    run, = state["runs"].values()
    assert {p["step"] for p in run["points"] if p["key"] == "system/resmon/run/wall_seconds"} == {0, 1}
    assert sorted(run["artifacts"]) == ["resmon/node_1.json", "resmon/run.json"]


# ---- cables ------------------------------------------------------------------------------------------


def pulled(case, how, lose):
    """At each position of the protocol; each time in an experiment of its own."""
    case.live(f"http://127.0.0.1:{free_port()}", "no_spool", "series").expect("stop", "RESMON_ENET")
    wanted = expected(case, "series")
    fake = case.fake()
    # What was dropped is given up after a time; what was reset, at once.
    env = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "0.4" if how == "drop" else "20", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
    with Blackhole("proxy", f"127.0.0.1:{fake.port}") as cable:
        def push(name, uri=f"http://127.0.0.1:{cable.port}", env=env):
            return case.run(uri, "push", "run.json", "series", "batch=100", "budget=60000",
                            env={**env, "MLFLOW_EXPERIMENT_NAME": name})
        push("whole", env={}).expect("push", "RESMON_OK")
        last = cable.status()["requests"]
        assert last >= 9, f"only {last} requests"
        # The experiment, the search, the run, the summary, a part of the series, the document, the end.
        for k in (1, 3, 4, 5, 6, last - 2, last):
            name = f"pulled {k}"
            cable.pull_at(cable.status()["requests"] + k, lose=lose, how=how)
            push(name)
            cable.plug()
            # What the network held back arrives now, and before what is sent again.
            while cable.status()["open"] > 0:
                time.sleep(0.01)
            push(name, fake.uri, {}).expect("push", "RESMON_OK")
            check_settled(fake.state(), wanted, name)


for pulled_how in ("drop", "reset"):
    for pulled_lose in ("request", "answer"):
        case(f"cable: {pulled_how}, {pulled_lose} lost")(lambda c, h=pulled_how, l=pulled_lose: pulled(c, h, l))


@case()
def cable_is_plugged_again(case):
    """TCP goes on where it was: nothing need be tried again."""
    fake = case.fake()
    with Blackhole("proxy", f"127.0.0.1:{fake.port}", "--pull-at", 4, "--plug-after", 0.5) as cable:
        case.live(f"http://127.0.0.1:{cable.port}",
                  env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"}).expect("stop", "RESMON_OK")
    check_settled(fake.state(), expected(case))


@case()
def nobody_listens(case):
    for kind in ("silent", "full"):
        with Blackhole(kind) as hole:
            result = case.live(f"http://127.0.0.1:{hole.port}", stop=4000, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": "60"})
            line = result["stop"]
            assert line["status"] in ("RESMON_ETIMEDOUT", "RESMON_ENET"), line
            assert "resmon push --mlflow" in line["text"] and str(hole.port) in line["text"], line
    fake = case.fake()
    for path in case.kept():
        case.run(f"{fake.uri}", "push", path).expect("push", "RESMON_OK")
    check_clean(fake.state())
    assert len(runs_of(fake.state())) == 2
