#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A strict MLflow tracking server for tests: the API of mlflow_api.py over HTTP/1.1, with the faults of
http_faults.py, TLS, credentials, and a log of every request.  README.md is its manual.

It listens on loopback and ends by itself after --lifetime seconds.
"""
import argparse
import base64
import itertools
import json
import os
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from http_faults import DENIALS, Answer, Faults, html, text
from mlflow_api import Api, error_answer

MOST_REQUEST_BYTES = 1 << 30
OURS = ("/_state", "/_fault", "/_lift", "/_reset", "/_stop")


class Log:
    """Every request, in the order of arrival; seconds are since the server's start."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        self.reset()

    def reset(self):
        self.requests, self.tls_failures, self.in_flight, self.most_in_flight = [], [], 0, 0

    def now(self):
        return round(time.monotonic() - self.begin, 6)

    def enter(self, entry):
        with self.lock:
            self.requests.append(entry)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)

    def leave(self, entry):
        with self.lock:
            entry["seconds"] = round(self.now() - entry["time"], 6)
            self.in_flight = max(0, self.in_flight - 1)

    def state(self):
        with self.lock:
            connections = {entry["connection"] for entry in self.requests}
            return {"requests": [dict(entry) for entry in self.requests], "connections": len(connections),
                    "tls_failures": list(self.tls_failures), "most_in_flight": self.most_in_flight}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, options):
        super().__init__((options.bind, 0 if options.port is None else options.port), Connection)
        self.options = options
        self.log, self.faults, self.stopping, self.lifted = Log(), Faults(), threading.Event(), threading.Event()
        self.api = Api(options.artifact_root)
        self.numbers = itertools.count(1)
        self.tls = tls_context(options) if options.tls else None
        self.wanted_credential = credential_of(options.auth)

    def get_request(self):
        connection, address = super().get_request()
        if self.tls is not None:
            # The handshake is the connection's own thread's: a client that stalls holds up nobody.
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        """A client that went away is no news; our own faults are."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def lift(self):
        """Who waits goes on; who comes later waits."""
        before, self.lifted = self.lifted, threading.Event()
        before.set()

    def state(self):
        return {**self.api.state(), **self.log.state(), "faults": self.faults.state()}


def tls_context(options):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*options.tls)
    if options.client_ca:
        context.load_verify_locations(options.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def credential_of(words):
    """The Authorization header that --auth asks for."""
    if words is None:
        return None
    kind, _, rest = words.partition(":")
    return {"basic": lambda: "Basic " + base64.b64encode(rest.encode()).decode(),
            "bearer": lambda: "Bearer " + rest}[kind]()


class Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version, sys_version = "fake-mlflow", ""

    def setup(self):
        self.number = next(self.server.numbers)
        self.timeout = self.server.options.idle
        super().setup()

    def handle(self):
        if self.server.tls is not None:
            try:
                self.connection.do_handshake()
            except OSError as error:
                with self.server.log.lock:
                    self.server.log.tls_failures.append(str(error))
                return
        super().handle()

    # sending; http_faults.py uses these

    def head(self, answer, length):
        """length None: the body ends with the connection."""
        lines = [f"HTTP/1.1 {answer.status} {self.responses.get(answer.status, ('Status',))[0]}",
                 f"Server: {self.server_version}", f"Date: {self.date_time_string()}"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        lines.append("Connection: close" if length is None else f"Content-Length: {length}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def wire(self, answer):
        self.entry["status"] = answer.status
        return self.head(answer, len(answer.body)) + answer.body

    def put(self, data):
        """False when the client has gone."""
        try:
            self.wfile.write(data)
            return True
        except OSError:
            self.close_connection = True
            return False

    def send(self, answer):
        return self.put(self.wire(answer))

    def pause(self, seconds):
        self.server.lifted.wait(seconds)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def log_message(self, format, *args):
        pass

    # receiving

    def serve(self):
        self.entry = {"status": None}
        names = {name.lower(): value for name, value in self.headers.items()}
        if self.path.partition("?")[0] in OURS:
            self.serve_test(self.read_body(names))
            return
        log = self.server.log
        self.entry = {"time": log.now(), "connection": self.number, "method": self.command, "path": self.path,
                      "headers": sorted(names), "user_agent": names.get("user-agent"),
                      "host": names.get("host"), "content_type": names.get("content-type"),
                      "workspace": names.get("x-mlflow-workspace"),
                      "credential": names.get("authorization", "").partition(" ")[0] or None,
                      "client_certificate": self.client_certificate(), "body_bytes": None, "status": None,
                      "fault": None}
        log.enter(self.entry)
        try:
            self.serve_api(names)
        finally:
            log.leave(self.entry)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = serve

    def client_certificate(self):
        found = self.connection.getpeercert() if self.server.tls is not None else None
        return dict(pair[0] for pair in found["subject"]).get("commonName") if found else None

    def serve_api(self, names):
        body = self.read_body(names)
        if body is None:
            return
        self.entry["body_bytes"] = len(body)
        rule = self.server.faults.choose(self.command, self.path)
        if rule is None:
            self.send(self.answer(names, body))
            return
        self.entry["fault"] = rule.words["do"]
        if rule.waits_first():
            self.pause(rule.words["seconds"])
            self.send(self.answer(names, body))
            return
        rule.action(self, rule.words, self.answer(names, body) if rule.processed else Answer(200))

    def violation(self, reason, answer):
        self.server.api.violations.append(f"{self.command} {self.path}: {reason}")
        return answer

    def read_body(self, names):
        """None when the request was refused, and the connection ends."""
        length = names.get("content-length")
        if "transfer-encoding" in names or (length is None and self.command in ("POST", "PUT")):
            self.close_connection = True
            self.send(self.violation("no Content-Length", text(411, "Length Required")))
            return None
        if length is None:
            return b""
        if not length.isdecimal() or int(length) > MOST_REQUEST_BYTES:
            self.close_connection = True
            self.send(self.violation(f"Content-Length {length}", text(400, "Bad Request")))
            return None
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            self.close_connection = True
            self.entry["cut_at"] = len(body)
            return None
        return body

    def answer(self, names, body):
        options = self.server.options
        if options.fast and self.path.endswith("/runs/log-batch"):
            return Answer(200)
        if "origin" in names:
            return self.violation("an Origin header", text(403, "Cross-origin request blocked"))
        path = self.path
        if options.prefix:
            if not path.startswith(options.prefix + "/"):
                return self.violation(f"outside of {options.prefix}", html(404, "Not Found"))
            path = path[len(options.prefix):]
        wanted = self.server.wanted_credential
        if wanted is not None and path not in ("/health", "/version") and names.get("authorization") != wanted:
            return text(*DENIALS["authentication"])
        if options.workspace is not None and names.get("x-mlflow-workspace") != options.workspace:
            return error_answer("INVALID_PARAMETER_VALUE", "Active workspace is required: X-MLFLOW-WORKSPACE is "
                                f"not {options.workspace}")
        return self.server.api.answer(self.command, path, names, body)

    # for the test

    def serve_test(self, body):
        if body is None:
            return
        (path, _, query), server = self.path.partition("?"), self.server
        if (self.command, path) == ("GET", "/_state"):
            names = urllib.parse.parse_qs(query).get("experiment")
            self.send(Answer(200, json.dumps(server.api.state(names[0]) if names else server.state())))
        elif (self.command, path) == ("GET", "/_fault"):
            self.send(Answer(200, json.dumps(server.faults.state())))
        elif (self.command, path) == ("POST", "/_fault"):
            try:
                server.faults.set(json.loads(body))
            except ValueError as error:
                self.send(text(400, str(error)))
                return
            self.send(Answer(200))
        elif (self.command, path) == ("POST", "/_lift"):
            server.lift()
            self.send(Answer(200))
        elif (self.command, path) == ("POST", "/_reset"):
            server.faults.set([])
            server.log.reset()
            server.api = Api(server.options.artifact_root)
            self.send(Answer(200))
        elif (self.command, path) == ("POST", "/_stop"):
            self.send(Answer(200))
            server.stopping.set()
            server.lift()
        else:
            self.send(text(405, f"no {self.command} {path}"))


def parse_arguments(words):
    parser = argparse.ArgumentParser(description="A strict MLflow server for tests.", allow_abbrev=False)
    parser.add_argument("--port-file", help="where the port is written, once it listens")
    parser.add_argument("--port", type=int, default=0, help="0, the default: any free one")
    parser.add_argument("--bind", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"))
    parser.add_argument("--client-ca", help="with --tls: demand a client certificate of this CA")
    parser.add_argument("--auth", help="basic:USER:PASSWORD or bearer:TOKEN")
    parser.add_argument("--workspace", help="demand this X-MLFLOW-WORKSPACE")
    parser.add_argument("--prefix", default="", help="serve below this path, such as /mlflow")
    parser.add_argument("--artifact-root", default="mlflow-artifacts:",
                        help="another scheme: a server that does not serve artifacts")
    parser.add_argument("--idle", type=float, default=5, help="seconds until an idle connection is closed; "
                        "5 are the real server's")
    parser.add_argument("--fast", action="store_true", help="answer {} to log-batch unread, for benches")
    parser.add_argument("--lifetime", type=float, default=1800, help="seconds until it ends by itself")
    parser.add_argument("--background", "--backend", action="store_true",
                        help="return once it listens, and serve on; POST /_stop ends it")
    options = parser.parse_args(words)
    if options.auth and options.auth.partition(":")[0] not in ("basic", "bearer"):
        parser.error("--auth is basic:USER:PASSWORD or bearer:TOKEN")
    if not options.bind.startswith("127."):
        parser.error("--bind wants a loopback address")
    return options


def detach():
    """The parent ends; the child keeps none of its pipes open."""
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)


def main(words):
    options = parse_arguments(words)
    server = Server(options)
    port = server.server_address[1]
    if options.background:
        print(port, flush=True)
    if options.port_file:
        with open(options.port_file + ".new", "w", encoding="ascii") as file:
            file.write(f"{port}\n")
        os.replace(options.port_file + ".new", options.port_file)
    if options.background:
        detach()
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        server.stopping.wait(options.lifetime)
    except KeyboardInterrupt:
        pass
    server.stopping.set()


if __name__ == "__main__":
    main(sys.argv[1:])
