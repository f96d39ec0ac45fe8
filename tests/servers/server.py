# SPDX-License-Identifier: MIT
"""What tests with servers share: programs or a reason to skip, free ports, servers that end."""
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

# No proxy between us and a server of ours.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def need(program, package):
    """The path of a program; without it the test is skipped."""
    path = shutil.which(program)
    if path is None:
        print(f"skipped: {program} is not installed (Debian: {package})")
        sys.exit(77)
    return path


_held = []


def free_port():
    """A port of loopback where nobody listens; a server may, and nobody else gets it while this process lives."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers have it
    held.bind(("127.0.0.1", 0))
    _held.append(held)
    return held.getsockname()[1]


def request(url, data=None, method="GET"):
    """Status and text of an answer."""
    try:
        with opener.open(urllib.request.Request(url, data=data, method=method), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@contextlib.contextmanager
def server(command, url, log):
    """Runs a server until the block ends, however it ends; waits until `url` answers."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                if request(url)[0] == 200:
                    break
            except OSError:
                pass
            if process.poll() is not None or time.monotonic() > deadline:
                with open(log, encoding="utf-8", errors="replace") as text:
                    raise RuntimeError(f"{command[0]} does not answer: {text.read()[-2000:]}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
