#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The failing networks fail as they say, and no others."""
import http.client
import http.server
import socket
import subprocess
import sys
import threading
import time
import unittest

from blackhole import Blackhole
from server import free_port

SHORT = 0.4  # where nothing is to come
LONG = 60  # where something is


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.server.seen.append(body)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, *_):
        pass  # a connection was reset


class BlackholeTest(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def post(self, port, body, connection=None, timeout=LONG):
        connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.addCleanup(connection.close)
        connection.request("POST", "/", body)
        return connection.getresponse().read()

    def wait_for(self, what, expected):
        end = time.monotonic() + LONG
        while what() != expected and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(what(), expected)

    def test_silent(self):
        with Blackhole("silent") as hole, socket.create_connection(("127.0.0.1", hole.port), LONG) as client:
            client.sendall(b"x" * (1 << 22))  # more than buffers hold: it is read
            client.settimeout(SHORT)
            self.assertRaises(socket.timeout, client.recv, 1)

    def test_full(self):
        with Blackhole("full") as hole:
            for _ in range(3):
                self.assertRaises(socket.timeout, socket.create_connection, ("127.0.0.1", hole.port), SHORT)

    def test_passes_all_on(self):
        with Blackhole("proxy", self.address) as hole:
            body = bytes(range(256)) * 4096
            connection = http.client.HTTPConnection("127.0.0.1", hole.port, timeout=LONG)
            for _ in range(3):
                self.assertEqual(self.post(hole.port, body, connection), body)
            self.assertEqual(self.post(hole.port, b""), b"")
            self.assertEqual(hole.status(), {"is_plugged": True, "requests": 4, "connections": 2, "open": 2})
            connection.close()
            self.wait_for(lambda: hole.status()["open"], 1)

    def test_drop_costs_nothing_but_time(self):
        with Blackhole("proxy", self.address) as hole:
            connection = http.client.HTTPConnection("127.0.0.1", hole.port, timeout=LONG)
            self.assertEqual(self.post(hole.port, b"1", connection), b"1")
            self.assertFalse(hole.pull()["is_plugged"])
            connection.request("POST", "/", b"2")
            connection.sock.settimeout(SHORT)
            self.assertRaises(socket.timeout, connection.sock.recv, 1)
            self.assertRaises(socket.timeout, socket.create_connection, ("127.0.0.1", hole.port), SHORT)
            self.assertEqual(self.server.seen, [b"1"])
            hole.plug()
            connection.sock.settimeout(LONG)
            self.assertEqual(connection.getresponse().read(), b"2")
            self.assertEqual(self.post(hole.port, b"3"), b"3")
            self.assertEqual(hole.status()["connections"], 2)

    def test_drop_holds_a_connect_until_plugged(self):
        with Blackhole("proxy", self.address, "--pull-after", 0, "--plug-after", 0.5) as hole:
            self.wait_for(lambda: hole.status()["is_plugged"], True)
            hole.pull()
            late = http.client.HTTPConnection("127.0.0.1", hole.port, timeout=LONG)
            self.assertEqual(self.post(hole.port, b"late", late), b"late")

    def test_reset(self):
        with Blackhole("proxy", self.address) as hole:
            connection = http.client.HTTPConnection("127.0.0.1", hole.port, timeout=LONG)
            self.assertEqual(self.post(hole.port, b"1", connection), b"1")
            hole.pull(how="reset")
            self.assertRaises(ConnectionResetError, connection.sock.recv, 1)
            self.assertRaises(ConnectionError, self.post, hole.port, b"2")
            hole.plug()
            self.assertEqual(self.post(hole.port, b"3"), b"3")
            self.assertEqual(self.server.seen, [b"1", b"3"])

    def test_plug_calls_off_a_pull_to_come(self):
        with Blackhole("proxy", self.address, "--pull-at", 2) as hole:
            self.assertEqual(self.post(hole.port, b"1"), b"1")
            hole.plug()
            self.assertEqual(self.post(hole.port, b"2"), b"2")
            self.assertTrue(hole.status()["is_plugged"])

    def pulled_at(self, seen, error, *arguments):
        self.server.seen.clear()
        with Blackhole("proxy", self.address, "--pull-at", 2, *arguments) as hole:
            self.assertEqual(self.post(hole.port, b"1"), b"1")
            self.assertRaises(error, self.post, hole.port, b"2", None, SHORT if error is socket.timeout else LONG)
            self.wait_for(lambda: hole.status()["is_plugged"], False)
            self.assertEqual(self.server.seen, seen)

    def test_pulled_at_a_request(self):
        self.pulled_at([b"1"], socket.timeout, "--lose", "request", "--how", "drop")
        self.pulled_at([b"1"], ConnectionError, "--lose", "request", "--how", "reset")
        self.pulled_at([b"1", b"2"], socket.timeout, "--lose", "answer", "--how", "drop")
        self.pulled_at([b"1", b"2"], ConnectionError, "--lose", "answer", "--how", "reset")

    def test_pulled_again_and_again(self):
        with Blackhole("proxy", self.address) as hole:
            for round_ in range(1, 4):
                hole.pull_at(hole.status()["requests"] + 1, lose="answer", how="reset")
                self.assertRaises(ConnectionError, self.post, hole.port, b"x")
                self.assertTrue(hole.plug()["is_plugged"])
                self.assertEqual(self.post(hole.port, b"y"), b"y")
                self.assertEqual(len(self.server.seen), 2 * round_)

    def test_a_server_that_is_not_there(self):
        with Blackhole("proxy", f"127.0.0.1:{free_port()}") as hole:
            self.assertRaises(ConnectionError, self.post, hole.port, b"1")

    def test_ends_with_its_parent(self):
        hole = Blackhole("silent")
        hole.__exit__()
        self.assertRaises(ConnectionRefusedError, socket.create_connection, ("127.0.0.1", hole.port))

    def test_bad_arguments(self):
        for words in ([], ["proxy"], ["silent", "127.0.0.1:1"], ["proxy", "nowhere"], ["full", "--how", "x"]):
            done = subprocess.run([sys.executable, "blackhole.py", *words], capture_output=True, check=False,
                                  cwd=sys.path[0])
            self.assertEqual(done.returncode, 2, words)


if __name__ == "__main__":
    unittest.main(verbosity=1)
