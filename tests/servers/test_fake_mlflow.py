#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fake_mlflow.py against http.client: what it accepts, refuses, counts, and how its faults look."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
API = "/api/2.0/mlflow/"
NOW = 1_763_670_000_000
JSON_TYPE = {"Content-Type": "application/json"}


@contextlib.contextmanager
def running(*options):
    """A server of its own; its port."""
    with tempfile.TemporaryDirectory() as directory:
        port_file = os.path.join(directory, "port")
        server = subprocess.Popen([sys.executable, str(HERE / "fake_mlflow.py"), "--port-file", port_file,
                                   "--lifetime", "100", *options])
        try:
            end = time.monotonic() + 20
            while not os.path.exists(port_file) and server.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            with open(port_file, encoding="ascii") as file:
                yield int(file.read())
        finally:
            server.terminate()
            server.wait()


class Client:
    """One connection; every answer is (status, parsed body or bytes)."""

    def __init__(self, port, context=None):
        self.port = port
        self.headers = {}
        if context is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        else:
            self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)

    def close(self):
        self.connection.close()

    def request(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, {**self.headers, **(headers or {})})
        self.response = self.connection.getresponse()
        found = self.response.read()
        is_json = self.response.getheader("Content-Type", "").startswith("application/json")
        try:
            return self.response.status, json.loads(found) if is_json else found
        except (ValueError, RecursionError):
            return self.response.status, found

    def raw(self, path, words):
        return self.request("POST", API + path, words, JSON_TYPE)

    def post(self, path, **words):
        return self.raw(path, json.dumps(words))

    def get(self, path):
        return self.request("GET", API + path)

    def state(self):
        return self.request("GET", "/_state")[1]

    def fault(self, *rules):
        status, answer = self.request("POST", "/_fault", json.dumps(rules))
        assert status == 200, answer

    def reset(self):
        self.request("POST", "/_reset", "")

    def new_run(self, **words):
        return self.post("runs/create", experiment_id="0", start_time=NOW, **words)[1]["run"]["info"]["run_id"]


def metric(key="m", value=1.0, timestamp=NOW, step=1):
    return {"key": key, "value": value, "timestamp": timestamp, "step": step}


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = running()
        cls.port = cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def setUp(self):
        self.client = Client(self.port)
        self.client.reset()
        self.addCleanup(self.client.close)

    def assert_refused(self, answer, code, words, violation):
        status, body = answer
        self.assertEqual((status, body["error_code"]),
                         (404 if code in ("RESOURCE_DOES_NOT_EXIST",) else 400, code))
        self.assertIn(words, body["message"])
        self.assertEqual(bool(self.client.state()["violations"]), violation)


class Experiments(WithServer):
    def test_life(self):
        client = self.client
        by_name = "experiments/get-by-name?experiment_name=caf%C3%A9%20%26%20co"
        self.assert_refused(client.get(by_name), "RESOURCE_DOES_NOT_EXIST", "Could not find experiment", False)
        self.assertEqual(client.post("experiments/create", name="café & co"), (200, {"experiment_id": "1"}))
        found = client.get(by_name)[1]["experiment"]
        self.assertEqual((found["experiment_id"], found["name"], found["lifecycle_stage"],
                          found["artifact_location"]), ("1", "café & co", "active", "mlflow-artifacts:/1"))
        self.assert_refused(client.post("experiments/create", name="café & co"), "RESOURCE_ALREADY_EXISTS",
                            "already exists", False)
        self.assertEqual(client.post("experiments/delete", experiment_id="1"), (200, {}))
        self.assertEqual(client.get("experiments/get?experiment_id=1")[1]["experiment"]["lifecycle_stage"],
                         "deleted")
        self.assert_refused(client.post("runs/create", experiment_id="1", start_time=NOW), "INVALID_PARAMETER_VALUE",
                            "must be in the 'active' state", False)
        self.assert_refused(client.get("experiments/get?experiment_id=9"), "RESOURCE_DOES_NOT_EXIST", "id=9",
                            False)

    def test_bad_names(self):
        for name in ("", " ", "x" * 501, 7):
            self.assertEqual(self.client.post("experiments/create", name=name)[0], 400)
        self.assertEqual(self.client.get("experiments/get-by-name?experiment_name=a&x=1")[0], 400)
        self.assertEqual(self.client.get("experiments/get-by-name?experiment_name=a&experiment_name=b")[0], 400)
        self.assertEqual(len(self.client.state()["violations"]), 6)


class Runs(WithServer):
    def test_life(self):
        client = self.client
        run = client.new_run(run_name="n", tags=[{"key": "resmon.uuid", "value": "u-1"}])
        info = client.get(f"runs/get?run_id={run}")[1]["run"]["info"]
        self.assertEqual((info["status"], info["run_name"], info["artifact_uri"]),
                         ("RUNNING", "n", f"mlflow-artifacts:/0/{run}/artifacts"))
        answer = client.post("runs/update", run_id=run, status="FINISHED", end_time=NOW + 5)[1]["run_info"]
        self.assertEqual((answer["status"], answer["end_time"]), ("FINISHED", NOW + 5))
        self.assertEqual(client.post("runs/log-metric", run_id=run, **metric()), (200, {}))
        client.post("runs/delete", run_id=run)
        self.assert_refused(client.post("runs/log-batch", run_id=run, metrics=[metric()]),
                            "INVALID_PARAMETER_VALUE", "Current state is deleted", False)
        self.assert_refused(client.post("runs/log-batch", run_id="nobody"), "RESOURCE_DOES_NOT_EXIST",
                            "Run with id=nobody not found", False)

    def test_search(self):
        client = self.client
        runs = [client.post("runs/create", experiment_id="0", start_time=NOW + index,
                            tags=[{"key": "job", "value": "7"}, {"key": "n o", "value": str(index)}])
                [1]["run"]["info"]["run_id"] for index in range(3)]

        def search(words, **more):
            answer = client.post("runs/search", experiment_ids=["0"], filter=words, **more)
            self.assertEqual(answer[0], 200, answer)
            return [run["info"]["run_id"] for run in answer[1].get("runs", [])]

        self.assertEqual(search("tags.`job` = '7'", order_by=["start_time DESC"]), runs[::-1])
        self.assertEqual(search("tags.job = '7'", order_by=["attributes.start_time ASC"]), runs)
        self.assertEqual(search("tags.`job` = '7' and tags.`n o` = '1'"), [runs[1]])
        self.assertEqual(search("tags.`job` = '8'"), [])
        self.assertEqual(search("tags.job = '7' AND attributes.status = 'RUNNING'", max_results=1), [runs[2]])
        client.post("runs/delete", run_id=runs[1])
        self.assertEqual(search("tags.`n o` = '1'"), [])
        self.assertEqual(search("tags.`n o` = '1'", run_view_type="ALL"), [runs[1]])
        self.assertEqual(client.state()["violations"], [])
        for bad in ("tags.job", "tags.job = '7' and", "tags.job = 7", "tags.job = '7' or tags.a = 'b'"):
            self.assertEqual(client.post("runs/search", experiment_ids=["0"], filter=bad)[0], 400, bad)
        self.assertEqual(client.post("runs/search", experiment_ids="0")[0], 400)

    def test_create_refuses(self):
        for words in ({}, {"experiment_id": 0, "start_time": NOW}, {"experiment_id": "0"},
                      {"experiment_id": "0", "start_time": 1763670000},
                      {"experiment_id": "0", "start_time": 1.5},
                      {"experiment_id": "0", "start_time": NOW, "status": "RUNNING"},
                      {"experiment_id": "0", "start_time": NOW, "run_name": "a",
                       "tags": [{"key": "mlflow.runName", "value": "b"}]}):
            self.assertEqual(self.client.post("runs/create", **words)[0], 400, words)
        run = self.client.new_run()
        self.assertEqual(self.client.post("runs/update", run_id=run, status="DONE")[0], 400)
        self.assertEqual(self.client.post("runs/update", run_id="bad id!", status="FINISHED")[0], 400)
        self.assertEqual(len(self.client.state()["violations"]), 9)


class Logging(WithServer):
    def setUp(self):
        super().setUp()
        self.run_id = self.client.new_run()

    def batch(self, **words):
        return self.client.post("runs/log-batch", run_id=self.run_id, **words)

    def history(self, key, more="max_results=100"):
        return self.client.get(f"metrics/get-history?run_id={self.run_id}&metric_key={key}&{more}")

    def test_points(self):
        points = [metric(step=2), metric(step=1, timestamp=NOW - 1), metric(step=2),
                  metric("n", "NaN"), metric("n", "Infinity"), metric("é/gpu:0 mem-x_y.z", -1e-300)]
        self.assertEqual(self.batch(metrics=points), (200, {}))
        self.batch(metrics=points[:1])
        self.assertEqual([(p["step"], p["timestamp"]) for p in self.history("m")[1]["metrics"]],
                         [(1, NOW - 1), (2, NOW)])
        self.assertEqual([p["value"] for p in self.history("n")[1]["metrics"]],
                         ["NaN", 1.7976931348623157e308])
        self.assertEqual(self.history("never"), (200, {}))
        kept = {(p["key"], p["step"]): p["count"] for p in self.client.state()["runs"][self.run_id]["points"]}
        self.assertEqual((kept["m", 2], kept["m", 1]), (3, 1))
        latest = self.client.get(f"runs/get?run_id={self.run_id}")[1]["run"]["data"]["metrics"]
        self.assertEqual({p["key"]: p["step"] for p in latest}["m"], 2)
        self.assertEqual(self.client.state()["violations"], [])

    def test_pages(self):
        self.batch(metrics=[metric(step=step) for step in range(25)])
        steps, token = [], ""
        while True:
            page = self.history("m", f"max_results=10{token}")[1]
            steps += [p["step"] for p in page["metrics"]]
            if "next_page_token" not in page:
                break
            token = "&page_token=" + page["next_page_token"].replace("=", "%3D")
        self.assertEqual(steps, list(range(25)))
        self.assertEqual(self.history("m", "page_token=")[0], 400)

    def test_params_and_tags(self):
        client = self.client
        self.assertEqual(self.batch(params=[{"key": "p", "value": "1"}], tags=[{"key": "t", "value": "a"}]),
                         (200, {}))
        self.assertEqual(client.post("runs/log-parameter", run_id=self.run_id, key="p", value="1")[0], 200)
        self.assert_refused(client.post("runs/log-parameter", run_id=self.run_id, key="p", value="2"),
                            "INVALID_PARAMETER_VALUE", "Changing param values is not allowed", False)
        self.assertEqual(client.post("runs/set-tag", run_id=self.run_id, key="t", value="b")[0], 200)
        run = client.state()["runs"][self.run_id]
        self.assertEqual((run["params"], run["tags"]["t"]), ({"p": "1"}, "b"))
        self.assert_refused(self.batch(params=[{"key": "q", "value": "1"}] * 2), "INVALID_PARAMETER_VALUE",
                            "Duplicate", True)

    def test_limits(self):
        many = [metric(step=step) for step in range(1001)]
        pairs = [{"key": f"k{index}", "value": "v"} for index in range(101)]
        self.assertEqual(self.batch(metrics=many[:1000])[0], 200)
        self.assertEqual(self.batch(params=pairs[:100], tags=pairs[:100], metrics=many[:800])[0], 200)
        for words in ({"metrics": many}, {"params": pairs}, {"tags": pairs},
                      {"metrics": many[:1000], "tags": pairs[:1]}):
            self.assert_refused(self.batch(**words), "INVALID_PARAMETER_VALUE", "can contain at most", True)
        self.assertEqual(self.batch(tags=[{"key": "k", "value": "v" * 8001}])[0], 400)
        self.assertEqual(self.batch(params=[{"key": "k", "value": "v" * 6001}])[0], 400)
        self.assertEqual(self.client.raw("runs/log-batch", b'{"run_id":"x"}' + b" " * 900_000)[0], 413)

    def test_names(self):
        for name in ("b%", "a//b", "/a", "a/", "../a", "", ".", "..", "a/./b", "a" * 251, "a\nb", 5):
            self.assertEqual(self.batch(metrics=[metric(name)])[0], 400, name)
        for name in ("a" * 250, "gpu:0 mem/used-x_y.z", "é", "a..b", ".a"):
            self.assertEqual(self.batch(metrics=[metric(name)])[0], 200, name)
        self.assertEqual(self.batch(metrics=[metric("fine"), metric("b%")])[0], 400)
        self.assertEqual(self.history("fine"), (200, {}))

    def test_strict_json(self):
        head = '{"run_id":"%s","metrics":[{"key":"m",' % self.run_id
        for rest in ('"value":NaN,"timestamp":1763670000000}]}', '"value":-Infinity,"timestamp":1763670000000}]}',
                     '"value":1e999,"timestamp":1763670000000}]}', '"value":null,"timestamp":1763670000000}]}',
                     '"value":"1.5","timestamp":1763670000000}]}', '"value":1,"timestamp":"1763670000000"}]}',
                     '"value":1,"timestamp":1763670000000.25}]}', '"value":1,"timestamp":1.76367e12}]}',
                     '"value":1,"timestamp":-1}]}', '"value":1}]}', '"value":1,"timestamp":1763670000000000000}]}',
                     '"value":1,"timestamp":1763670000000,"step":1.0}]}', '"value":true,"timestamp":1763670000000}]}',
                     '"value":1,"value":1,"timestamp":1763670000000}]}',
                     '"value":1,"timestamp":1763670000000,"steps":1}]}', '"value":1', "]", ""):
            self.assertEqual(self.client.raw("runs/log-batch", head + rest)[0], 400, rest)
        self.assertEqual(self.client.raw("runs/log-batch", b'{"run_id":"\xff"}')[0], 400)
        self.assertEqual(self.client.raw("runs/log-batch", "[" * 99999)[0], 400)
        self.assertEqual(len(self.client.state()["violations"]), 20)
        self.assertEqual(self.client.state()["runs"][self.run_id]["points"], [])

    def test_artifacts(self):
        client = self.client
        base = f"/api/2.0/mlflow-artifacts/artifacts/0/{self.run_id}/artifacts/"
        body = bytes(range(256)) * 5000
        self.assertEqual(client.request("PUT", base + "resmon/a%20b.json", body), (200, b""))
        self.assertEqual(client.request("GET", base + "resmon/a%20b.json"), (200, body))
        self.assertEqual(client.get(f"artifacts/list?run_id={self.run_id}")[1]["files"],
                         [{"path": "resmon", "is_dir": True}])
        self.assertEqual(client.get(f"artifacts/list?run_id={self.run_id}&path=resmon")[1]["files"],
                         [{"path": "resmon/a b.json", "is_dir": False, "file_size": len(body)}])
        self.assertEqual(client.state()["violations"], [])
        for path in (base + "../x", base + "a%", f"/api/2.0/mlflow-artifacts/artifacts/1/{self.run_id}/artifacts/x"):
            self.assertIn(client.request("PUT", path, b"x")[0], (400, 404), path)
        chunked = Client(self.port)
        # The head alone: the answer comes at once, and the connection may be gone before a body is sent.
        chunked.connection.putrequest("PUT", base + "c")
        chunked.connection.putheader("Transfer-Encoding", "chunked")
        chunked.connection.endheaders()
        self.assertEqual(chunked.connection.getresponse().status, 411)
        chunked.close()
        self.assertEqual(len(client.state()["violations"]), 4)


class Requests(WithServer):
    def test_shape(self):
        client = self.client
        for answer, status in ((client.request("GET", "/health"), 200), (client.request("GET", "/version"), 200),
                               (client.request("GET", "/nowhere"), 404), (client.request("GET", API + "x/y"), 404),
                               (client.get("runs/create"), 405),
                               (client.request("POST", API + "runs/create", "{}"), 400),
                               (client.request("POST", API + "runs/create", "{}",
                                               {"Content-Type": "text/plain"}), 400),
                               (client.request("POST", API + "runs/create", "{}", {**JSON_TYPE, "Origin": "x"}), 403),
                               (client.request("POST", API + "runs/create", "{}",
                                               {**JSON_TYPE, "Content-Encoding": "gzip"}), 500)):
            self.assertEqual(answer[0], status)
        self.assertEqual(client.request("POST", API + "runs/create",
                                        json.dumps({"experiment_id": "0", "start_time": NOW}),
                                        {"content-type": "application/json; charset=utf-8"})[0], 200)
        self.assertEqual(len(client.state()["violations"]), 7)

    def test_log(self):
        run = self.client.new_run()
        other = Client(self.port)
        other.headers = {"User-Agent": "me/1", "Authorization": "Bearer secret", "X-MLFLOW-WORKSPACE": "w"}
        other.get(f"runs/get?run_id={run}")
        other.get(f"runs/get?run_id={run}")
        state = other.state()
        first, second, third = state["requests"]
        self.assertEqual((first["method"], first["path"], first["body_bytes"], first["status"], first["credential"]),
                         ("POST", API + "runs/create", 51, 200, None))
        self.assertEqual((second["credential"], second["user_agent"], second["workspace"]), ("Bearer", "me/1", "w"))
        self.assertIn("authorization", second["headers"])
        self.assertNotIn("secret", json.dumps(state))
        self.assertEqual(second["connection"], third["connection"])
        self.assertNotEqual(first["connection"], third["connection"])
        self.assertEqual(state["connections"], 2)
        self.assertLessEqual(second["time"] + second["seconds"], third["time"] + 1e-3)
        other.close()


class FaultRules(WithServer):
    def health(self, count):
        return [self.client.request("GET", "/health")[0] for _ in range(count)]

    def test_which(self):
        for rule, wanted in (({"first": 2}, [503, 503, 200, 200]), ({"nth": 2}, [200, 503, 200, 200]),
                             ({"nth": [1, 4]}, [503, 200, 200, 503]), ({"every": 2}, [200, 503, 200, 503]),
                             ({"after": 1, "first": 1}, [200, 503, 200, 200]), ({"path": "batch"}, [200] * 4),
                             ({"method": "POST"}, [200] * 4), ({}, [503] * 4)):
            self.client.fault({"do": "status", **rule})
            self.assertEqual(self.health(4), wanted, rule)
        self.client.fault()
        self.assertEqual(self.health(1), [200])
        for bad in ([{}], [{"do": "x"}], [{"do": "hang"}], [{"do": "close", "when": "never"}], {},
                    [{"do": "status", "pth": "x"}], [{"do": "deny", "what": "x"}]):
            self.assertEqual(self.client.request("POST", "/_fault", json.dumps(bad))[0], 400, bad)

    def test_status(self):
        self.client.fault({"do": "status", "nth": 1, "status": 429, "retry_after": 7},
                          {"do": "status", "nth": 1, "status": 503, "retry_after_date": 9},
                          {"do": "status", "nth": 1, "status": 500, "format": "html"})
        self.assertEqual(self.health(1), [429])
        self.assertEqual(self.client.response.getheader("Retry-After"), "7")
        self.assertEqual(self.health(1), [503])
        self.assertRegex(self.client.response.getheader("Retry-After"), r"^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$")
        self.assertEqual(self.health(1), [500])
        self.assertIn("text/html", self.client.response.getheader("Content-Type"))

    def created(self, rule):
        """Runs that exist after one create under the rule, and what the client saw."""
        self.client.reset()
        self.client.fault({"path": "runs/create", **rule})
        client = Client(self.port)
        client.connection.timeout = 60
        try:
            seen = client.post("runs/create", experiment_id="0", start_time=NOW)
        except (OSError, http.client.HTTPException) as error:
            seen = type(error).__name__
        client.close()
        while any(request.get("seconds") is None for request in self.client.state()["requests"]):
            time.sleep(0.01)
        return len(self.client.state()["runs"]), seen

    def test_close(self):
        self.assertEqual(self.created({"do": "close"}), (0, "RemoteDisconnected"))
        self.assertEqual(self.created({"do": "close", "when": "after"}), (1, "RemoteDisconnected"))
        self.assertEqual(self.created({"do": "close", "when": "half"}), (1, "IncompleteRead"))
        self.assertEqual(self.created({"do": "status", "status": 504, "processed": True})[0], 1)
        self.assertEqual(self.created({"do": "status", "status": 504})[0], 0)

    def test_slow(self):
        for rule, runs in (({"do": "hang", "seconds": 0.4}, 1), ({"do": "hang", "seconds": 0.4, "when": "answer"}, 1),
                           ({"do": "hang", "seconds": 0.4, "when": "half"}, 1),
                           ({"do": "drip", "seconds": 0.001}, 1)):
            begin = time.monotonic()
            count, seen = self.created(rule)
            self.assertEqual((count, seen[0]), (runs, 200), rule)
            self.assertGreater(time.monotonic() - begin, 0.4, rule)

    def test_what_hangs_can_be_lifted(self):
        self.client.fault({"do": "hang", "seconds": 600, "path": "runs/create"})
        seen = []
        client = Client(self.port)
        hanging = threading.Thread(target=lambda: seen.append(client.post("runs/create", experiment_id="0", start_time=NOW)))
        hanging.start()
        while not self.client.state()["faults"][0]["fired"]:
            time.sleep(0.01)
        while not seen:  # it may be about to hang
            self.assertEqual(self.client.request("POST", "/_lift")[0], 200)
            hanging.join(0.05)
        self.assertEqual(seen[0][0], 200)
        client.close()

    def test_garbage(self):
        for what in ("bytes", "truncated", "shape", "deep", "empty"):
            self.assertEqual(self.created({"do": "garbage", "what": what})[0], 1)
        self.assertEqual(self.created({"do": "garbage", "what": "head"}), (1, "BadStatusLine"))
        self.client.fault({"do": "endless", "mebibytes": 64, "path": "/health"})
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            count = 0
            while block := connection.recv(1 << 20):
                count += len(block)
        self.assertGreater(count, 64 << 20)

    def test_redirect_and_deny(self):
        with running() as other:
            for status in (301, 302, 307, 308):
                self.client.fault({"do": "redirect", "status": status, "to": f"http://127.0.0.1:{other}"})
                self.assertEqual(self.client.get("runs/get?run_id=a")[0], status)
                self.assertEqual(self.client.response.getheader("Location"),
                                 f"http://127.0.0.1:{other}{API}runs/get?run_id=a")
        for what, status, words in (("host", 403, b"Invalid Host header"), ("cors", 403, b"Cross-origin"),
                                    ("authentication", 401, b"not authenticated"),
                                    ("permission", 403, b"Permission denied"), ("artifacts", 503, b"artifacts")):
            self.client.fault({"do": "deny", "what": what})
            answer = self.client.request("GET", "/health")
            self.assertEqual(answer[0], status)
            self.assertIn(words, answer[1])
        self.assertEqual(self.client.state()["faults"][0]["fired"], 1)


class Options(unittest.TestCase):
    def test_auth(self):
        for option, right in (("basic:u:p:w", "Basic " + base64.b64encode(b"u:p:w").decode()),
                              ("bearer:t", "Bearer t")):
            with running("--auth", option) as port:
                client = Client(port)
                self.assertEqual(client.get("runs/get?run_id=a")[0], 401)
                self.assertEqual(client.request("GET", "/health")[0], 200)
                client.headers = {"Authorization": right + "x"}
                self.assertEqual(client.get("runs/get?run_id=a")[0], 401)
                client.headers = {"Authorization": right}
                self.assertEqual(client.get("runs/get?run_id=a")[0], 404)
                client.close()

    def test_prefix_workspace_artifact_root_idle(self):
        with running("--prefix", "/ml", "--workspace", "w", "--artifact-root", "s3://b", "--idle", "3") as port:
            client = Client(port)
            self.assertEqual(client.request("GET", "/health")[0], 404)
            body = json.dumps({"experiment_id": "0", "start_time": NOW})
            self.assertEqual(client.request("POST", "/ml" + API + "runs/create", body, JSON_TYPE)[0], 400)
            status, answer = client.request("POST", "/ml" + API + "runs/create", body,
                                            {**JSON_TYPE, "X-MLFLOW-WORKSPACE": "w"})
            self.assertEqual(status, 200)
            self.assertTrue(answer["run"]["info"]["artifact_uri"].startswith("s3://b/0/"))
            self.assertEqual(client.connection.sock.recv(1), b"")  # once it is closed
            client.close()

    def test_fast(self):
        with running("--fast") as port:
            client = Client(port)
            begin = time.monotonic()
            for _ in range(200):
                self.assertEqual(client.raw("runs/log-batch", b"x" * 100_000), (200, {}))
            print(f"--fast: {200 / (time.monotonic() - begin):.0f} batches of 100 kB a second")
            client.close()

    def test_background(self):
        with tempfile.TemporaryDirectory() as directory:
            words = [sys.executable, str(HERE / "fake_mlflow.py"), "--background", "--lifetime", "60",
                     "--port-file", directory + "/port"]
            port = int(subprocess.run(words, capture_output=True, check=True, timeout=20).stdout)
            self.assertEqual(port, int(pathlib.Path(directory, "port").read_text()))
            client = Client(port)
            self.assertEqual(client.request("POST", "/_stop", "")[0], 200)
            client.close()


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        script = HERE / "certificates.sh"
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        made = subprocess.run(["sh", str(script), cls.directory.name], capture_output=True, text=True, check=False)
        if made.returncode == 77:
            raise unittest.SkipTest(made.stdout)
        made.check_returncode()

    def name(self, file):
        return os.path.join(self.directory.name, file)

    def visit(self, certificate, *options, client_certificate=None):
        """The status, or the reason of the refusal; and the server's state as an insecure client sees it."""
        with running("--tls", self.name(certificate + ".pem"), self.name(certificate + ".key"), *options) as port:
            context = ssl.create_default_context(cafile=self.name("ca.pem"))
            if client_certificate:
                context.load_cert_chain(self.name(client_certificate))
            client = Client(port, context)
            try:
                return client.request("GET", "/health")[0], client.state()
            except ssl.SSLCertVerificationError as error:
                return error.verify_message, None
            except OSError as error:
                return type(error).__name__, None
            finally:
                client.close()

    def test_certificates(self):
        self.assertEqual(self.visit("server")[0], 200)
        self.assertIn("expired", self.visit("expired")[0])
        self.assertIn("not valid for '127.0.0.1'", self.visit("other-host")[0])
        self.assertIn("self-signed", self.visit("self-signed")[0].replace("self signed", "self-signed"))  # OpenSSL 1.1

    def test_client_certificate(self):
        ca = self.name("ca.pem")
        status, state = self.visit("server", "--client-ca", ca, client_certificate="client.pem")
        self.assertEqual((status, state["requests"][0]["client_certificate"]), (200, "resmon test client"))
        self.assertNotEqual(self.visit("server", "--client-ca", ca)[0], 200)


if __name__ == "__main__":
    unittest.main()
