# SPDX-License-Identifier: MIT
"""A headless Chromium that can reach the loopback only, driven through chromedriver."""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


def wait_for(condition, seconds):
    """What the condition gave once it was true, else the last that it gave."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.2)


class Browser:
    """A WebDriver session."""

    def __init__(self, directory):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = {**os.environ, "HOME": directory, "TMPDIR": directory}
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--log-level=SEVERE"],
                                       env=environment, stdout=subprocess.DEVNULL)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.session = None
        flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-default-apps", "--disable-extensions", "--metrics-recording-only",
                 "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                 "--window-size=1400,1800", f"--user-data-dir={directory}/profile",
                 "--no-sandbox"]  # root has none, nor has who may make no user namespace; pages are ours and of loopback
        wait_for(self.is_up, 30)
        options = {"args": flags, "binary": shutil.which("chromium")}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options}}})
        self.session = answer["sessionId"]

    def is_up(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def call(self, method, path, words=None):
        body = json.dumps(words).encode() if words is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, method=method,
                                         headers={"Content-Type": "application/json"})
        with self.opener.open(request, timeout=100) as answer:
            return json.load(answer)["value"]

    def command(self, method, path, words=None):
        return self.call(method, f"/session/{self.session}/{path}", words)

    def open(self, url):
        self.command("POST", "url", {"url": url})

    def run(self, script, *arguments):
        return self.command("POST", "execute/sync", {"script": script, "args": arguments})

    def run_async(self, script, *arguments):
        """What the script gave to its last argument, a function."""
        return self.command("POST", "execute/async", {"script": script, "args": arguments})

    def save_screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.command("GET", "screenshot")))

    def close(self):
        if self.session is not None:
            with contextlib.suppress(OSError):
                self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()


@contextlib.contextmanager
def browser():
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            print(f"skipped: there is no {program} (Debian: chromium, chromium-driver)")
            sys.exit(77)
    directory = tempfile.mkdtemp(prefix="resmon-browser-")
    try:
        found = Browser(directory)
        try:
            yield found
        finally:
            found.close()
    finally:  # a process of the browser's may still write there
        shutil.rmtree(directory, ignore_errors=True)
