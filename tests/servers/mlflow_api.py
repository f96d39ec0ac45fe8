# SPDX-License-Identifier: MIT
"""The part of MLflow's REST API that a sink uses, in memory, stricter than the real server.

Where MLflow answers 200 to what it then stores wrongly (a bare NaN, a time with a fraction, a field that
it does not know), this refuses, and keeps the reason in `violations`: a test asserts that there are none.
What a correct client may meet (a name taken, a run deleted, a parameter changed) has MLflow's own status
and error code, and is no violation.
"""
import base64
import hashlib
import json
import math
import posixpath
import re
import threading
import time
import urllib.parse
import uuid

from http_faults import Answer, html, text

API = "/api/2.0/mlflow/"
ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts"
MOST_BODY_BYTES = 900_000
MOST_METRICS, MOST_PARAMS, MOST_TAGS, MOST_TOGETHER = 1000, 100, 100, 1000
LARGEST_DOUBLE = 1.7976931348623157e308
STATUSES = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")
STATUS_OF = {"INVALID_PARAMETER_VALUE": 400, "BAD_REQUEST": 400, "RESOURCE_ALREADY_EXISTS": 400,
             "RESOURCE_DOES_NOT_EXIST": 404, "ENDPOINT_NOT_FOUND": 404}
INVALID = "INVALID_PARAMETER_VALUE"


def error_answer(code, message):
    """With the members that newer servers add."""
    return Answer(STATUS_OF[code], json.dumps({"error_code": code, "message": message, "sqlstate": "KAM00",
                                               "error_class": code}))


class Refused(Exception):
    """What a correct client may meet, too."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code

    def answer(self):
        return error_answer(self.code, str(self))


class Violation(Refused):
    """What a correct client never does."""

    def __init__(self, message, code=INVALID, answer=None):
        super().__init__(code, message)
        self.other_answer = answer

    def answer(self):
        return self.other_answer or super().answer()


# ---- strict reading ----------------------------------------------------------------------------------


def refuse_constant(word):
    raise Violation(f"{word} is no JSON")


def object_of(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Violation(f"a key twice in one object: {[key for key, _ in pairs]}")
    return found


def parse_float(digits):
    value = float(digits)
    if not math.isfinite(value):
        raise Violation(f"{digits} is beyond a double")
    return value


def parse_body(body):
    try:
        words = body.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        raise Violation(f"the body is not UTF-8: {error}", "BAD_REQUEST") from error
    try:
        found = json.loads(words, parse_constant=refuse_constant, object_pairs_hook=object_of,
                           parse_float=parse_float)
    except Violation:
        raise
    except (ValueError, RecursionError) as error:
        raise Violation(f"the body is not JSON: {error}", "BAD_REQUEST") from error
    if not isinstance(found, dict):
        raise Violation("the body is not a JSON object", "BAD_REQUEST")
    return found


# Checks of one field: each gets the value and its name for the message.


def is_text(value, where):
    if not isinstance(value, str):
        raise Violation(f"{where}: a string is wanted, not {value!r}")
    if "\0" in value or re.search("[\ud800-\udfff]", value):
        raise Violation(f"{where}: a NUL or half a surrogate pair in {value!r}")


def is_int64(value, where):
    if isinstance(value, bool) or not isinstance(value, int) or not -2**63 <= value < 2**63:
        raise Violation(f"{where}: an integer is wanted, not {value!r}")


def is_milliseconds(value, where):
    is_int64(value, where)
    if value < 0:
        raise Violation(f"Invalid value {value} for parameter '{where}' supplied: Timestamp must be a "
                        "nonnegative long")
    # 1973 to 5138: seconds and nanoseconds of today are outside.
    if not 10**11 <= value <= 10**14:
        raise Violation(f"{where}: {value} is not in milliseconds since 1970")


def is_count(value, where):
    is_int64(value, where)
    if not 1 <= value <= 50000:
        raise Violation(f"{where}: {value} is not in 1..50000")


def is_value(value, where):
    if value in ("NaN", "Infinity", "-Infinity") and isinstance(value, str):
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > LARGEST_DOUBLE:
        raise Violation(f'Invalid value {json.dumps(value)} for parameter \'{where}\' supplied')


def is_key(value, where):
    is_text(value, where)
    if len(value) > 250:
        raise Violation(f"'{where}' exceeds the maximum length of 250 characters")
    if value == "" or not re.fullmatch(r"[/\w.\- :]*", value):
        raise Violation(f"Invalid value {json.dumps(value)} for parameter '{where}' supplied: Names may only "
                        "contain alphanumerics, underscores (_), dashes (-), periods (.), spaces ( ), "
                        "colon(:) and slashes (/).")
    if posixpath.normpath(value) != value or value == "." or value.startswith(("..", "/")):
        raise Violation(f"Invalid value {json.dumps(value)} for parameter '{where}' supplied: Names may be "
                        "treated as files in certain cases, and must not resolve to other names when treated "
                        "as such.")


def is_run_id(value, where):
    is_text(value, where)
    if not re.fullmatch(r"[a-zA-Z0-9][\w\-]{0,255}", value):
        raise Violation(f'Invalid value "{value}" for parameter \'{where}\' supplied')


def is_experiment_name(value, where):
    is_text(value, where)
    if value.strip() == "" or len(value) > 500:
        raise Violation(f"Invalid value {json.dumps(value)} for parameter '{where}' supplied: 1 to 500 "
                        "characters")


def text_up_to(length):
    def check(value, where):
        is_text(value, where)
        if len(value) > length:
            raise Violation(f"{where}: {len(value)} characters; MLflow keeps {length} and says nothing")
    return check


def is_status(value, where):
    if value not in STATUSES:
        raise Violation(f"{where}: {value!r} is none of {', '.join(STATUSES)}")


def list_of(check):
    def check_list(value, where):
        if not isinstance(value, list):
            raise Violation(f"{where}: a list is wanted")
        for index, item in enumerate(value):
            check(item, f"{where}[{index}]")
    return check_list


def object_with(fields):
    """fields: name -> check; a name ending in ? may be missing."""
    checks = {name.rstrip("?"): (check, not name.endswith("?")) for name, check in fields.items()}

    def check_object(value, where):
        if not isinstance(value, dict):
            raise Violation(f"{where}: an object is wanted")
        prefix = f"{where}." if where else ""
        for name in value:
            if name not in checks:
                raise Violation(f"there is no field {prefix}{name}; it would be ignored")
        for name, (check, required) in checks.items():
            if name in value:
                check(value[name], prefix + name)
            elif required:
                raise Violation(f"Missing value for required parameter '{prefix}{name}'. See the API docs for "
                                "more information about request parameters.")
    return check_object


METRIC = {"key": is_key, "value": is_value, "timestamp": is_milliseconds, "step?": is_int64}
PARAM = {"key": is_key, "value": text_up_to(6000)}
TAG = {"key": is_key, "value": text_up_to(8000)}


def check_batch_size(words):
    counts = {kind: len(words.get(kind, [])) for kind in ("metrics", "params", "tags")}
    limits = {"metrics": MOST_METRICS, "params": MOST_PARAMS, "tags": MOST_TAGS}
    for kind, count in counts.items():
        if count > limits[kind]:
            raise Violation(f"A batch logging request can contain at most {limits[kind]} {kind}. Got {count} "
                            f"{kind}. Please split up {kind} across multiple requests and try again.")
    if sum(counts.values()) > MOST_TOGETHER:
        raise Violation(f"A batch logging request can contain at most {MOST_TOGETHER} metrics, params, and "
                        f"tags. Got {sum(counts.values())} metrics, params, and tags. Please split up "
                        "metrics, params, and tags across multiple requests and try again.")


# ---- what is kept ------------------------------------------------------------------------------------


def now_ms():
    return int(time.time() * 1000)


def pairs(found):
    return [{"key": key, "value": value} for key, value in found.items()]


def stored_value(value):
    """As an SQL store keeps it."""
    return {"Infinity": LARGEST_DOUBLE, "-Infinity": -LARGEST_DOUBLE}.get(value, value)


def sortable(value):
    return -math.inf if value == "NaN" else value


class Experiment:
    def __init__(self, number, name, location, tags):
        self.tags = tags
        self.info = {"experiment_id": number, "name": name, "artifact_location": location,
                     "lifecycle_stage": "active", "creation_time": now_ms(), "last_update_time": now_ms()}

    def shown(self):
        return {**self.info, "tags": pairs(self.tags)} if self.tags else self.info


class Run:
    def __init__(self, experiment, words):
        number = uuid.uuid4().hex
        self.tags = {tag["key"]: tag["value"] for tag in words.get("tags", [])}
        self.params = {}
        self.points = {}  # (key, timestamp, step, value) -> how often it was sent
        self.artifacts = {}
        name = words.get("run_name") or self.tags.get("mlflow.runName") or f"fake-run-{number[:6]}"
        self.tags["mlflow.runName"] = name
        self.info = {"run_id": number, "run_uuid": number, "experiment_id": experiment["experiment_id"],
                     "run_name": name, "user_id": words.get("user_id", ""), "status": "RUNNING",
                     "start_time": words["start_time"],
                     "artifact_uri": f"{experiment['artifact_location']}/{number}/artifacts",
                     "lifecycle_stage": "active"}

    def add_point(self, metric):
        point = (metric["key"], metric["timestamp"], metric.get("step", 0), stored_value(metric["value"]))
        self.points[point] = self.points.get(point, 0) + 1

    def history(self, key):
        points = sorted((p for p in self.points if p[0] == key),
                        key=lambda p: (p[1], p[2], sortable(p[3])))
        return [dict(zip(("key", "timestamp", "step", "value"), point)) for point in points]

    def latest(self):
        found = {}
        for point in self.points:
            order = (point[2], point[1], sortable(point[3]))
            if point[0] not in found or order > found[point[0]][0]:
                found[point[0]] = (order, point)
        return [dict(zip(("key", "timestamp", "step", "value"), point)) for _, point in found.values()]

    def shown(self):
        data = {"metrics": self.latest(), "params": pairs(self.params), "tags": pairs(self.tags)}
        return {"info": self.info, "data": {k: v for k, v in data.items() if v}, "inputs": {}}

    def state(self):
        artifacts = {path: {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
                     for path, body in self.artifacts.items()}
        points = [dict(zip(("key", "timestamp", "step", "value"), point), count=count)
                  for point, count in self.points.items()]
        return {"info": self.info, "params": self.params, "tags": self.tags, "points": points,
                "artifacts": artifacts}


# ---- the search filter: comparisons joined by "and" --------------------------------------------------

FILTER_PART = re.compile(
    r"\s*(?P<kind>tags?|params?|parameters|attributes?|run)\.(`(?P<k1>[^`]+)`|\"(?P<k2>[^\"]+)\"|(?P<k3>[\w./-]+))"
    r"\s*(?P<operator>!=|=)\s*('(?P<v1>[^']*)'|\"(?P<v2>[^\"]*)\")\s*(?P<end>(?i:and)\s|$)")


def parse_filter(words):
    tests, at = [], 0
    while at < len(words) and words.strip():
        part = FILTER_PART.match(words, at)
        if part is None or (part["end"] and part.end() == len(words)):
            raise Violation(f"Invalid filter string at {words[at:]!r}")
        value = part["v1"] if part["v1"] is not None else part["v2"]
        tests.append((part["kind"][0], part["k1"] or part["k2"] or part["k3"], part["operator"], value))
        at = part.end()
    return tests


def passes(run, tests):
    for kind, key, operator, wanted in tests:
        found = {"t": run.tags, "p": run.params, "a": run.info, "r": run.info}[kind].get(key)
        if found is None or (found == wanted) != (operator == "="):
            return False
    return True


def parse_order(words):
    """(field, descending) of `start_time DESC` and its like."""
    part = re.fullmatch(r"\s*(?:attributes?\.)?(start_time|end_time|run_name|status)(?:\s+(ASC|DESC))?\s*", words,
                        re.IGNORECASE)
    if part is None:
        raise Violation(f"Invalid order_by clause {words!r}")
    return part[1], (part[2] or "ASC").upper() == "DESC"


def page_of(items, most, token):
    try:
        start = json.loads(base64.b64decode(token))["offset"] if token else 0
    except (ValueError, KeyError, TypeError) as error:
        raise Violation(f"Invalid page token {token!r}") from error
    following = base64.b64encode(json.dumps({"offset": start + most}).encode()).decode()
    return items[start:start + most], following if len(items) > start + most else None


# ---- the endpoints -----------------------------------------------------------------------------------


class Api:
    """answer() is called by any thread; one lock guards all that is kept."""

    def __init__(self, artifact_root="mlflow-artifacts:"):
        self.artifact_root = artifact_root.rstrip("/")
        self.lock = threading.Lock()
        self.experiments, self.runs, self.violations = {}, {}, []
        self.add_experiment({"name": "Default"})

    # experiments

    def add_experiment(self, words):
        number = str(len(self.experiments))
        location = words.get("artifact_location") or f"{self.artifact_root}/{number}"
        tags = {tag["key"]: tag["value"] for tag in words.get("tags", [])}
        self.experiments[number] = Experiment(number, words["name"], location, tags)
        return number

    def named(self, name):
        return next((e for e in self.experiments.values() if e.info["name"] == name), None)

    def experiment(self, number):
        if number not in self.experiments:
            raise Refused("RESOURCE_DOES_NOT_EXIST", f"No Experiment with id={number} exists")
        return self.experiments[number]

    def create_experiment(self, words):
        found = self.named(words["name"])
        if found is not None:
            state = "in deleted state" if found.info["lifecycle_stage"] == "deleted" else "in active state"
            raise Refused("RESOURCE_ALREADY_EXISTS", f"Experiment(name={words['name']}) already exists, {state}")
        return {"experiment_id": self.add_experiment(words)}

    def get_experiment(self, words):
        return {"experiment": self.experiment(words["experiment_id"]).shown()}

    def get_experiment_by_name(self, words):
        found = self.named(words["experiment_name"])
        if found is None:
            raise Refused("RESOURCE_DOES_NOT_EXIST",
                          f"Could not find experiment with name '{words['experiment_name']}'")
        return {"experiment": found.shown()}

    def delete_experiment(self, words):
        self.experiment(words["experiment_id"]).info["lifecycle_stage"] = "deleted"
        return {}

    def restore_experiment(self, words):
        self.experiment(words["experiment_id"]).info["lifecycle_stage"] = "active"
        return {}

    # runs

    def run(self, words):
        if words["run_id"] not in self.runs:
            raise Refused("RESOURCE_DOES_NOT_EXIST", f"Run with id={words['run_id']} not found")
        return self.runs[words["run_id"]]

    def active_run(self, words):
        run = self.run(words)
        if run.info["lifecycle_stage"] != "active":
            raise Refused(INVALID, f"The run {words['run_id']} must be in the 'active' state. Current state is "
                          f"{run.info['lifecycle_stage']}.")
        return run

    def create_run(self, words):
        experiment = self.experiment(words["experiment_id"]).info
        if experiment["lifecycle_stage"] != "active":
            raise Refused(INVALID, f"The experiment {words['experiment_id']} must be in the 'active' state. "
                          "Current state is deleted.")
        tags = {tag["key"]: tag["value"] for tag in words.get("tags", [])}
        named = {words.get("run_name"), tags.get("mlflow.runName")} - {None}
        if len(named) > 1:
            raise Violation("Both 'run_name' argument and 'mlflow.runName' tag are specified, but with "
                            "different values")
        run = Run(experiment, words)
        self.runs[run.info["run_id"]] = run
        return {"run": run.shown()}

    def get_run(self, words):
        return {"run": self.run(words).shown()}

    def update_run(self, words):
        run = self.active_run(words)
        for name in ("status", "end_time", "run_name"):
            if name in words:
                run.info[name] = words[name]
        run.tags["mlflow.runName"] = run.info["run_name"]
        return {"run_info": run.info}

    def delete_run(self, words):
        self.run(words).info["lifecycle_stage"] = "deleted"
        return {}

    def restore_run(self, words):
        self.run(words).info["lifecycle_stage"] = "active"
        return {}

    def search_runs(self, words):
        tests = parse_filter(words.get("filter", ""))
        wanted = words.get("run_view_type", "ACTIVE_ONLY")
        found = [run for run in self.runs.values()
                 if run.info["experiment_id"] in words["experiment_ids"] and passes(run, tests) and
                 (wanted == "ALL" or (run.info["lifecycle_stage"] == "active") == (wanted == "ACTIVE_ONLY"))]
        for clause in reversed(words.get("order_by") or ["start_time DESC"]):
            field, descending = parse_order(clause)
            found.sort(key=lambda run: run.info.get(field) or 0, reverse=descending)
        page, token = page_of(found, words.get("max_results", 1000), words.get("page_token"))
        answer = {"runs": [run.shown() for run in page]} if page else {}
        return {**answer, "next_page_token": token} if token else answer

    # what is logged

    def set_params(self, run, params):
        changed = [{"key": p["key"], "old_value": run.params[p["key"]], "new_value": p["value"]}
                   for p in params if run.params.get(p["key"], p["value"]) != p["value"]]
        if changed:
            raise Refused(INVALID, "Changing param values is not allowed. Params were already logged="
                          f"'{changed}' for run ID='{run.info['run_id']}'.")
        run.params.update((p["key"], p["value"]) for p in params)

    def set_tags(self, run, tags):
        run.tags.update((tag["key"], tag["value"]) for tag in tags)
        run.info["run_name"] = run.tags["mlflow.runName"]

    def log_metric(self, words):
        self.active_run(words).add_point(words)
        return {}

    def log_parameter(self, words):
        self.set_params(self.active_run(words), [words])
        return {}

    def set_tag(self, words):
        self.set_tags(self.active_run(words), [words])
        return {}

    def log_batch(self, words):
        check_batch_size(words)
        params = words.get("params", [])
        if len({p["key"] for p in params}) != len(params):
            raise Violation(f"Duplicate parameter keys have been submitted: {[p['key'] for p in params]}. "
                            "Please ensure the request contains only one param value per param key.")
        run = self.active_run(words)
        self.set_params(run, params)
        for metric in words.get("metrics", []):
            run.add_point(metric)
        self.set_tags(run, words.get("tags", []))
        return {}

    def get_history(self, words):
        points = self.run(words).history(words["metric_key"])
        page, token = page_of(points, words["max_results"], words.get("page_token"))
        answer = {"metrics": page} if page else {}
        return {**answer, "next_page_token": token} if token else answer

    def list_artifacts(self, words):
        run = self.run(words)
        return {"root_uri": run.info["artifact_uri"], **listing(run.artifacts, words.get("path", ""))}

    # artifacts: raw bytes below <experiment>/<run>/artifacts/

    def artifact(self, method, path, query, body):
        if path == ARTIFACTS:
            words = parse_query(query)
            run, rest = self.artifact_place(words.get("path", ""))
            return Answer(200, json.dumps(listing(run.artifacts, rest)))
        encoded = path[len(ARTIFACTS) + 1:]
        if not re.fullmatch(r"(?:[A-Za-z0-9._~/!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*", encoded):
            raise Violation(f"artifact path {encoded!r} is not percent-encoded")
        run, rest = self.artifact_place(urllib.parse.unquote(encoded, errors="strict"))
        if method == "PUT":
            run.artifacts[rest] = body
            return Answer(200, b"", None)
        if rest not in run.artifacts:
            raise Refused("RESOURCE_DOES_NOT_EXIST", f"No such artifact: '{rest}'")
        if method == "DELETE":
            del run.artifacts[rest]
            return Answer(200)
        return Answer(200, run.artifacts[rest], "application/octet-stream")

    def artifact_place(self, path):
        """The run, and the path below its artifacts."""
        parts = path.split("/")
        if ".." in parts or "." in parts or "" in parts[:-1] or len(parts) < 3 or parts[2] != "artifacts":
            raise Violation(f"Invalid path: {path!r}")
        run = self.runs.get(parts[1])
        if run is None or run.info["experiment_id"] != parts[0]:
            raise Violation(f"artifact path {path!r} is of no run", "RESOURCE_DOES_NOT_EXIST")
        return run, "/".join(parts[3:])

    # all requests

    def answer(self, method, target, headers, body):
        """headers: lower-case names.  Never raises for what the client did."""
        path, _, query = target.partition("?")
        try:
            with self.lock:
                return self.dispatch(method, path, query, headers, body)
        except Violation as refused:
            self.violations.append(f"{method} {target}: {refused}")
            return refused.answer()
        except Refused as refused:
            return refused.answer()

    def dispatch(self, method, path, query, headers, body):
        if path in PLAIN and method == "GET":
            return text(200, PLAIN[path])
        if path.startswith(ARTIFACTS):
            if method not in ("GET", "PUT", "DELETE") or (method == "PUT" and path == ARTIFACTS):
                raise Violation(f"{method} on artifacts", answer=html(405, "Method Not Allowed"))
            return self.artifact(method, path, query, body)
        route = ROUTES.get(path[len(API):]) if path.startswith(API) else None
        if route is None:
            raise Violation("no such endpoint", answer=html(404, "Not Found"))
        wanted, function, check = route
        if method != wanted:
            raise Violation(f"the method is {wanted}", answer=html(405, "Method Not Allowed"))
        words = parse_query(query) if method == "GET" else read_json(query, headers, body)
        check(words, "")
        return Answer(200, json.dumps(function(self, words), indent=2))

    def state(self, experiment=None):
        """Of one experiment, by its name, or of all."""
        with self.lock:
            found = {number: e.shown() for number, e in self.experiments.items()}
            if experiment is not None:
                found = {number: shown for number, shown in found.items() if shown["name"] == experiment}
            return {"experiments": found,
                    "runs": {number: run.state() for number, run in self.runs.items()
                             if run.info["experiment_id"] in found},
                    "violations": list(self.violations)}


def listing(artifacts, directory):
    prefix = directory.rstrip("/") + "/" if directory else ""
    found = {}
    for path, body in artifacts.items():
        if path.startswith(prefix):
            first, slash, _ = path[len(prefix):].partition("/")
            found[prefix + first] = {"path": prefix + first, "is_dir": True} if slash else \
                {"path": prefix + first, "is_dir": False, "file_size": len(body)}
    return {"files": [found[path] for path in sorted(found)]} if found else {}


def parse_query(query):
    try:
        found = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query),
                                       errors="strict")
    except (ValueError, UnicodeDecodeError) as error:
        raise Violation(f"query {query!r}: {error}") from error
    words = object_of(found)
    if words.get("max_results", "").isdecimal():
        words["max_results"] = int(words["max_results"])
    return words


def read_json(query, headers, body):
    kind = headers.get("content-type", "")
    if kind.partition(";")[0].strip().lower() != "application/json":
        raise Violation(f"Bad Request. Content-Type must be one of ['application/json']. Got '{kind}'")
    if "content-encoding" in headers:
        raise Violation("a compressed body", answer=html(500, "Internal Server Error"))
    if query:
        raise Violation(f"a query on a POST: {query}")
    if len(body) >= MOST_BODY_BYTES:
        raise Violation(f"a body of {len(body)} bytes; under {MOST_BODY_BYTES} is wanted",
                        answer=text(413, "Request Entity Too Large"))
    return parse_body(body)


PLAIN = {"/health": "OK", "/version": "3.11.2"}
OF_RUN = {"run_id": is_run_id}
OF_EXPERIMENT = {"experiment_id": is_text}

# path: (method, function, check of the fields)
ROUTES = {path: (method, function, object_with(fields)) for path, method, function, fields in (
    ("experiments/create", "POST", Api.create_experiment,
     {"name": is_experiment_name, "artifact_location?": is_text, "tags?": list_of(object_with(TAG))}),
    ("experiments/get", "GET", Api.get_experiment, OF_EXPERIMENT),
    ("experiments/get-by-name", "GET", Api.get_experiment_by_name, {"experiment_name": is_experiment_name}),
    ("experiments/delete", "POST", Api.delete_experiment, OF_EXPERIMENT),
    ("experiments/restore", "POST", Api.restore_experiment, OF_EXPERIMENT),
    ("runs/create", "POST", Api.create_run,
     {"experiment_id": is_text, "run_name?": is_text, "start_time": is_milliseconds, "user_id?": is_text,
      "tags?": list_of(object_with(TAG))}),
    ("runs/get", "GET", Api.get_run, OF_RUN),
    ("runs/update", "POST", Api.update_run,
     {**OF_RUN, "status?": is_status, "end_time?": is_milliseconds, "run_name?": is_text}),
    ("runs/delete", "POST", Api.delete_run, OF_RUN),
    ("runs/restore", "POST", Api.restore_run, OF_RUN),
    ("runs/search", "POST", Api.search_runs,
     {"experiment_ids": list_of(is_text), "filter?": is_text, "max_results?": is_count,
      "order_by?": list_of(is_text), "page_token?": is_text, "run_view_type?": is_text}),
    ("runs/log-metric", "POST", Api.log_metric, {**OF_RUN, **METRIC}),
    ("runs/log-parameter", "POST", Api.log_parameter, {**OF_RUN, **PARAM}),
    ("runs/set-tag", "POST", Api.set_tag, {**OF_RUN, **TAG}),
    ("runs/log-batch", "POST", Api.log_batch,
     {**OF_RUN, "metrics?": list_of(object_with(METRIC)), "params?": list_of(object_with(PARAM)),
      "tags?": list_of(object_with(TAG))}),
    ("metrics/get-history", "GET", Api.get_history,
     {**OF_RUN, "metric_key": is_key, "max_results": is_count, "page_token?": is_text}),
    ("artifacts/list", "GET", Api.list_artifacts, {**OF_RUN, "path?": is_text, "page_token?": is_text}),
)}
