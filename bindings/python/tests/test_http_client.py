# SPDX-License-Identifier: MIT
"""Sinks over HTTP where there is no libcurl: Python's own client sends, with Python's TLS."""
import http.server
import os
import pathlib
import ssl
import subprocess
import sys
import textwrap
import threading

import pytest

import resmon
from resmon import _abi, http_client

CERTIFICATES = pathlib.Path(__file__).parents[3] / "tests/servers/certificates.sh"
WITHOUT = "libcurl (7.66 or later; Debian: libcurl4) cannot be loaded"


class Server(http.server.BaseHTTPRequestHandler):
    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        code, headers, text = self.server.answers.pop(0) if self.server.answers else (200, {}, b"")
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as made:
        made.requests, made.answers = [], []
        made.url = f"http://127.0.0.1:{made.server_address[1]}"
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def without_libcurl(tmp_path):
    """Runs code in a Python for which libcurl is no library; returns what it prints."""
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).write_text("no library")

    def run(code, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment.update(variables, LD_LIBRARY_PATH=f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                           PYTHONPATH=os.pathsep.join(sys.path))
        done = subprocess.run([sys.executable, "-c", "import resmon\n" + textwrap.dedent(code)], env=environment, timeout=100,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if "this build has no HTTP" in done.stdout or "was built without" in done.stdout:
            pytest.skip("this build has no HTTP")
        return done.stdout
    return run


def test_a_push_and_what_it_carries(server, without_libcurl):
    server.answers = [(503, {"Retry-After": "0"}, b"later"), (200, {}, b"")]
    said = without_libcurl(f"""
        with resmon.Monitor(3600, pushgateway="http://me:SECRET@{server.url[7:]}", otlp={{"endpoint": "{server.url}", "headers": "key=v"}}):
            pass
        print("done")
    """)
    assert said == "done\n"
    by_method = {}
    for method, path, headers, body in server.requests:
        by_method.setdefault(method, []).append((path, headers, body))
    assert len(server.requests) == 3  # one of them twice
    path, headers, body = by_method["PUT"][-1]
    assert headers["Authorization"] == "Basic bWU6U0VDUkVU" and b"\nresmon_proc_mem_rss_bytes" in body
    path, headers, body = by_method["POST"][-1]
    assert path == "/v1/metrics" and headers["Key"] == "v" and headers["Content-Type"] == "application/x-protobuf"
    assert b"\0" in body and b"process.memory.usage" in body


@pytest.mark.parametrize("answer, words", [
    ((401, {}, b"who are you, SECRET"), "HTTP 401: who are you, ******"),
    ((302, {"Location": "/elsewhere"}, b""), "HTTP 302"),
    ((200, {}, b"x" * (5 << 20)), "longer than"),
])
def test_answers_that_are_failures(server, without_libcurl, answer, words):
    server.answers = [answer]
    said = without_libcurl(f"""
        monitor = resmon.Monitor(3600, pushgateway="http://me:SECRET@{server.url[7:]}")
        monitor.start()
        try:
            monitor.stop()
        except resmon.Error as error:
            print(error)
    """)
    assert words in said and "SECRET" not in said and len(server.requests) == 1


def test_no_server(without_libcurl):
    said = without_libcurl("""
        try:
            resmon.promql.value("http://127.0.0.1:9", "up", timeout=5)
        except resmon.errors.NetworkError as error:
            print(error)
    """)
    assert "POST http://127.0.0.1:9/" in said and "refused" in said


def test_a_monitor_that_only_the_end_of_python_stops(server, without_libcurl):
    assert without_libcurl(f"""
        monitor = resmon.Monitor(3600, pushgateway="{server.url}")
        monitor.start()
    """) == ""
    assert [request[0] for request in server.requests] == ["PUT"]


def test_certificates(server, without_libcurl, tmp_path):
    """Python's own certificates are trusted, and those that ca_path has; no others."""
    made = subprocess.run(["sh", CERTIFICATES, tmp_path], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"openssl: {made.stderr[-200:]}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://localhost:{server.server_address[1]}"
    said = without_libcurl(f"""
        for options in {{}}, {{"ca_path": "{tmp_path}/ca.pem"}}, {{"insecure_tls": True}}:
            monitor = resmon.Monitor(3600, pushgateway={{"url": "{url}", **options}})
            monitor.start()
            try:
                monitor.stop()
                print("sent")
            except resmon.Error as error:
                print(error)
    """).splitlines()
    assert "CERTIFICATE_VERIFY_FAILED" in said[0] and said[1:] == ["sent", "sent"]


def test_without_a_client_the_library_says_what_it_lacks(without_libcurl):
    said = without_libcurl("""
        from ctypes import byref, c_void_p
        from resmon._library import lib
        handle = c_void_p()
        lib.monitor_new_text(b"", byref(handle))
        try:
            lib.monitor_add(handle, b"pushgateway", b"http://h")
        except resmon.NotSupportedError as error:
            print(error)
    """)
    assert WITHOUT in said


def test_nothing_is_raised_into_the_library(monkeypatch):
    """Whatever goes wrong in Python is a failure with its reason."""
    said = []
    monkeypatch.setattr(http_client, "lib", type("Lib", (), {"http_reply_add": staticmethod(lambda _, text, __: said.append(text))}))
    monkeypatch.setattr(http_client, "_ask", lambda *_: 1 / 0)
    assert http_client._exchange(None, [None], None) == _abi.ENET
    assert said == [b"ZeroDivisionError: division by zero"]
