#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pulling the wire of wire.sh costs a connection nothing but time.  Runs at its near end."""
import os
import socket
import subprocess
import sys

ECHO = """
import socket
listener = socket.create_server(("192.0.2.2", 5000))
print("ready", flush=True)
while True:
    client = listener.accept()[0]
    while data := client.recv(100):
        client.sendall(data)
"""


def main():
    far_end, pull, plug = (os.environ[name].split() for name in ("FAR_END", "PULL_WIRE", "PLUG_WIRE"))
    server = subprocess.Popen([*far_end, sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    client = socket.create_connection(("192.0.2.2", 5000), 60)
    client.sendall(b"1")
    assert client.recv(100) == b"1"
    client.settimeout(1)
    subprocess.run(pull, check=True)
    client.sendall(b"2")  # nobody tells us
    for attempt in (lambda: client.recv(100),
                    lambda: socket.create_connection(("192.0.2.2", 5000), 0.5)):
        try:
            attempt()
        except socket.timeout:
            continue
        raise AssertionError("something came through a pulled wire")
    subprocess.run(plug, check=True)
    client.settimeout(90)
    assert client.recv(100) == b"2"  # the kernel has sent it again
    print("pulled, plugged, and the same connection goes on")


if __name__ == "__main__":
    main()
