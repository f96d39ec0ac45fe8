# SPDX-License-Identifier: MIT
"""Faults of answers: those that pass, which the run itself outlives, and those that last, after which all waits
in a run document and arrives once they are over."""
from mlflow_rig import case, check_clean, check_settled, expected, runs_of, shown
from server import free_port

CREATE = "runs/create"
ARTIFACTS = "mlflow-artifacts"

@case()
def no_fault(case):
    fake = case.fake()
    case.live(fake.uri, "series").expect("stop", "RESMON_OK")
    assert case.kept() == []
    check_settled(fake.state(), expected(case, "series"))


@case()
def down_then_up(case):
    port = free_port()
    result = case.live(f"http://127.0.0.1:{port}", "series")
    result.expect("stop", "RESMON_ENET", f"127.0.0.1:{port}", "resmon push --mlflow", ".json")
    fake = case.fake(port=port)
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case, "series"))


# ---- faults that pass: the run ends well -------------------------------------------------------------

PASSING = {
    "503 twice": [{"do": "status", "status": 503, "first": 2}],
    "502 and 504 in turns": [{"do": "status", "status": 502, "every": 3}, {"do": "status", "status": 504, "every": 4}],
    "408": [{"do": "status", "status": 408, "nth": 2}],
    "500 as HTML": [{"do": "status", "status": 500, "format": "html", "first": 2}],
    "429": [{"do": "status", "status": 429, "path": "log-batch", "first": 2}],
    "429 with seconds": [{"do": "status", "status": 429, "path": "log-batch", "nth": 1, "retry_after": 1}],
    "429 with a date": [{"do": "status", "status": 429, "path": "log-batch", "nth": 1, "retry_after_date": 2}],
    "413 with seconds": [{"do": "status", "status": 413, "path": "runs/update", "nth": 1, "retry_after": 1}],
    "slow": [{"do": "hang", "seconds": 0.15}],
    "slow drip": [{"do": "drip", "seconds": 0.0005}],
    "closing before": [{"do": "close", "when": "before", "every": 3}],
    "closing half-way": [{"do": "close", "when": "half", "every": 2}],
    "closing after": [{"do": "close", "when": "after", "every": 2}],
}
ON_CREATE = {
    "closing after": [{"do": "close", "when": "after", "first": 1}],
    "closing after, thrice": [{"do": "close", "when": "after", "first": 3}],
    "closing half-way": [{"do": "close", "when": "half", "first": 1}],
    "504 after the work": [{"do": "status", "status": 504, "processed": True, "first": 2}],
    "500 after the work": [{"do": "status", "status": 500, "format": "html", "processed": True, "first": 1}],
    "429 after the work": [{"do": "status", "status": 429, "processed": True, "first": 1}],
    "hanging at the answer": [{"do": "hang", "when": "answer", "seconds": 4, "first": 1}],
    "hanging half-way": [{"do": "hang", "when": "half", "seconds": 4, "first": 1}],
    **{f"garbage: {what}": [{"do": "garbage", "what": what, "first": 1}]
       for what in ("bytes", "truncated", "shape", "deep", "empty", "head")},
    "an endless answer": [{"do": "endless", "mebibytes": 64, "first": 1}],
    "403 after the work": [{"do": "status", "status": 403, "processed": True, "first": 1}],
}


def passing(case, rules, timeout="20"):
    fake = case.fake()
    fake.faults(*rules)
    result = case.live(fake.uri, "series", "batch=100", env={
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "6", "MLFLOW_HTTP_REQUEST_TIMEOUT": timeout})
    result.expect("stop", "RESMON_OK")
    state = fake.state()
    assert any(rule["fired"] for rule in state["faults"]), "the fault did not happen"
    assert case.kept() == []
    check_settled(state, expected(case, "series"))
    return state


def add_passing():
    for name, rules in PASSING.items():
        case(f"passes: {name}")(lambda c, rules=rules: passing(c, rules))
    for name, rules in ON_CREATE.items():
        rules = [{**rule, "path": CREATE} for rule in rules]
        timeout = "3" if rules[0]["do"] == "hang" else "20"
        case(f"one run only: {name}")(lambda c, rules=rules, timeout=timeout: passing(c, rules, timeout))


add_passing()


@case()
def retry_after_is_waited_for(case):
    """At least so long, and no shorter than the server said."""
    state = passing(case, [{"do": "status", "status": 429, "path": "log-batch", "nth": 1, "retry_after": 2}])
    times = [r["time"] for r in state["requests"] if r["path"].endswith("log-batch")]
    assert times[1] - times[0] >= 1.9, f"the second came after {times[1] - times[0]:.2f} s"


@case()
def retry_after_beyond_the_budget(case):
    fake = case.fake()
    fake.faults({"do": "status", "status": 429, "path": "log-batch", "retry_after": 1000})
    result = case.live(fake.uri)
    line = result.expect("stop", "RESMON_EREMOTE", "429", "log-batch", "resmon push --mlflow")
    assert line["seconds"] < 30, "it waited for nothing"  # half of its time
    assert fake.state()["faults"][0]["fired"] == 1
    fake.faults()
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case))


@case()
def retry_after_can_be_ignored(case):
    fake = case.fake()
    fake.faults({"do": "status", "status": 503, "path": "log-batch", "first": 1, "retry_after": 100})
    result = case.live(fake.uri, env={"MLFLOW_HTTP_RESPECT_RETRY_AFTER_HEADER": "false"})
    result.expect("stop", "RESMON_OK")
    check_settled(fake.state(), expected(case))


@case()
def too_large_becomes_smaller(case):
    """A proxy that takes 60 metrics: all arrives, in more requests."""
    fake = case.fake()
    fake.faults({"do": "status", "status": 413, "path": "log-batch", "format": "html", "first": 2})
    result = case.live(fake.uri, "series", "work=300")
    result.expect("stop", "RESMON_OK")
    batches = [r for r in fake.state()["requests"] if r["path"].endswith("log-batch")]
    assert len(batches) >= 5, f"{len(batches)} requests"
    check_settled(fake.state(), expected(case, "series"))


@case()
def artifact_too_large(case):
    """A proxy that takes no large files: the run is finished all the same, and the document waits."""
    fake = case.fake()
    fake.faults({"do": "status", "status": 413, "path": ARTIFACTS, "format": "html"})
    result = case.live(fake.uri)
    result.expect("stop", "RESMON_EREMOTE", "413", "artifact", "resmon push --mlflow")
    assert runs_of(fake.state())[0]["info"]["status"] == "FINISHED"
    fake.faults()
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case))


@case()
def server_without_artifacts(case):
    fake = case.fake("--artifact-root", "s3://bucket")
    result = case.live(fake.uri)
    result.expect("stop", "RESMON_OK")
    assert "s3" in result.errors and "Python client" in result.errors, result.errors
    check_settled(fake.state(), {**expected(case), "artifacts": []})


# ---- faults that last --------------------------------------------------------------------------------

TIMEOUT = ("RESMON_ETIMEDOUT", "RESMON_ENET")
REMOTE = ("RESMON_EREMOTE",)
# name: (rules, codes one of which stop may have, words of its text)
LASTING = {
    "503": ([{"do": "status", "status": 503}], REMOTE, ["HTTP 503", "injected fault"]),
    "503 with a wait": ([{"do": "status", "status": 503, "retry_after": 1000}], REMOTE, ["HTTP 503"]),
    "500 as HTML": ([{"do": "status", "status": 500, "format": "html"}], REMOTE, ["HTTP 500", "Injected Fault"]),
    "504 after the work": ([{"do": "status", "status": 504, "processed": True}], REMOTE, ["HTTP 504"]),
    "429": ([{"do": "status", "status": 429}], REMOTE, ["HTTP 429"]),
    "409": ([{"do": "status", "status": 409}], REMOTE, ["HTTP 409"]),
    "413": ([{"do": "status", "status": 413}], REMOTE, ["HTTP 413"]),
    "hanging before": ([{"do": "hang", "when": "before", "seconds": 100}], TIMEOUT, ["no answer"]),
    "hanging at the answer": ([{"do": "hang", "when": "answer", "seconds": 100}], TIMEOUT, ["no answer"]),
    "hanging half-way": ([{"do": "hang", "when": "half", "seconds": 100}], TIMEOUT, ["no answer"]),
    "drip": ([{"do": "drip", "seconds": 0.5}], TIMEOUT, ["no answer"]),
    "closing before": ([{"do": "close", "when": "before"}], ("RESMON_ENET",), []),
    "closing after": ([{"do": "close", "when": "after"}], ("RESMON_ENET",), []),
    "closing half-way": ([{"do": "close", "when": "half"}], ("RESMON_ENET",), []),
    "401": ([{"do": "deny", "what": "authentication"}], ("RESMON_EACCES",),
            ["HTTP 401", "MLFLOW_TRACKING_USERNAME"]),
    "403": ([{"do": "deny", "what": "permission"}], ("RESMON_EACCES",), ["HTTP 403", "Permission denied"]),
    "403 of the host": ([{"do": "deny", "what": "host"}], ("RESMON_EACCES",),
                        ["HTTP 403", "--allowed-hosts", "MLFLOW_SERVER_ALLOWED_HOSTS"]),
    "404": ([{"do": "status", "status": 404, "format": "html"}], ("RESMON_EREMOTE",), ["HTTP 404", "prefix"]),
    **{f"garbage: {what}": ([{"do": "garbage", "what": what}], ("RESMON_EFORMAT", "RESMON_ENET", "RESMON_EREMOTE"), [])
       for what in ("bytes", "truncated", "shape", "deep", "empty", "head")},
    "a login page": ([{"do": "status", "status": 200, "format": "html"}], ("RESMON_EFORMAT",), []),
    "an endless answer": ([{"do": "endless", "mebibytes": 200}], ("RESMON_EFORMAT",), ["longer than"]),
}
# Where the fault sits; "" is everywhere.
PLACES = {"": "everywhere", "experiments/": "the experiment", CREATE: "the run", "log-batch": "batches",
          ARTIFACTS: "the artifact", "runs/update": "the end"}
EVERYWHERE_ONLY = {"drip", "hanging half-way", "hanging before", "503 with a wait", "409", "504 after the work"}


def lasting(case, rules, codes, words):
    for left in range(4, -1, -1):
        state = outlasted(case, rules, codes, words)
        if len(runs_of(state)) <= 1 or codes != TIMEOUT or not left:
            break
        # The limit of a request is that of all: on a busy host the server may make a run after the program gave up,
        # looked for it and asked for another, which no client can prevent.  "one run only" says it with more time.
        print(f"again: {case.name}: {len(runs_of(state))} runs: the server was slower than the limit", flush=True)
    check_settled(state, expected(case, "series"))


def outlasted(case, rules, codes, words):
    """The state of a server whose fault lasted until the run was over, and of which all has arrived since."""
    fake = case.fake()
    fake.faults(*rules)
    # Only where nothing comes, time is what ends it: an eighth is left to put away what was not sent, 0.6 s.
    stop, timeout = (4800, "0.6") if codes == TIMEOUT else (60000, "20")
    result = case.live(fake.uri, "series", stop=stop, env={"MLFLOW_HTTP_REQUEST_TIMEOUT": timeout})
    line = result["stop"]
    if line["status"] == "RESMON_OK":  # the server did it, and the program could find out that it did
        assert case.kept() == []
        fake.faults()
        return fake.state()
    assert line["status"] in codes, f"{line['status']}: {line['text']}"
    for word in [f"127.0.0.1:{fake.port}", *words, "resmon push --mlflow", str(case.directory)]:
        assert word in line["text"], f"no {word!r} in: {line['text']}"
    assert "MLflow" in line["text"] or "mlflow" in line["text"]
    assert result["end"]["peak_rss_kb"] < case.largest_kb, f"{result['end']['peak_rss_kb']} kB"
    assert len(case.kept()) == 1
    fake.faults()
    # What hangs in the server may still be carried out: it must not, after the push, be one too many.
    fake.lift()
    fake.until(lambda state: all(r["status"] is not None or r["fault"] != "hang" for r in state["requests"]))
    case.push_kept(fake.uri)
    return fake.state()


def add_lasting():
    for name, (rules, codes, words) in LASTING.items():
        for path, place in PLACES.items():
            if path == "" or name not in EVERYWHERE_ONLY:
                placed = [{**rule, "path": path} for rule in rules]
                case(f"lasts: {name}, {place}")(lambda c, placed=placed, codes=codes, words=words:
                                                lasting(c, placed, codes, words))


add_lasting()


@case()
def wrong_prefix(case):
    fake = case.fake("--prefix", "/mlflow")
    result = case.live(fake.uri)
    result.expect("stop", "RESMON_EREMOTE", "HTTP 404", "prefix")
    assert fake.state()["runs"] == {}
    case.run(f"{fake.uri}/mlflow/", "push", case.kept()[0]).expect("push", "RESMON_OK")
    state = fake.state()
    state["violations"] = [v for v in state["violations"] if "outside of /mlflow" not in v]
    check_settled(state, expected(case))


@case()
def is_behind_a_prefix(case):
    fake = case.fake("--prefix", "/a/mlflow")
    case.live(fake.uri + "/a/mlflow").expect("stop", "RESMON_OK")
    check_settled(fake.state(), expected(case))


@case()
def one_batch_is_refused(case):
    """Of many batches, one in the middle: it alone waits... and the run is finished."""
    fake = case.fake()
    fake.faults({"do": "status", "status": 400, "path": "log-batch", "nth": 2})
    result = case.live(fake.uri, "series", "batch=50")
    result.expect("stop", "RESMON_EREMOTE", "HTTP 400", "resmon push --mlflow")
    case.push_kept(fake.uri)
    check_settled(fake.state(), expected(case, "series"))


@case()
def no_document_is_wanted(case):
    result = case.live(f"http://127.0.0.1:{free_port()}", "no_spool")
    result.expect("stop", "RESMON_ENET", "is lost")
    assert case.kept() == []


@case()
def fails_in_the_middle_of_series(case):
    """Portions go out while it runs, and the server fails for a while."""
    fake = case.fake()
    fake.faults({"do": "status", "status": 503, "path": "log-batch", "nth": [2, 3, 4, 5, 6, 7, 8, 9]},
                {"do": "close", "when": "after", "path": "log-batch", "every": 3})
    result = case.live(fake.uri, "series", "every=100", "work=900", "batch=30",
                       env={"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "10"})
    result.expect("stop", "RESMON_OK")
    state = fake.state()
    check_clean(state)
    run, = runs_of(state)
    wanted = expected(case, "series")
    lost = set(wanted["points"]) - set(shown(run)["points"])
    # Rows that merged after they were sent are there as they were.
    assert all(p[0].startswith("system/") for p in lost), lost
    steps = {}
    for point in shown(run)["points"]:
        if point[0].startswith("system/"):
            assert steps.setdefault((point[0], point[2]), point[3]) == point[3], f"two values: {point}"
    assert len(runs_of(state)) == 1 and run["info"]["status"] == "FINISHED"
