#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that fail, on demand, for whoever talks TCP:

    blackhole.py silent                 accepts and reads, and never answers
    blackhole.py full                   never accepts: its backlog is full, a connect gets no reply
    blackhole.py proxy HOST:PORT        passes all on to a server, by a cable that can be pulled

The first line printed is "PORT CONTROL", where to connect and where to control.  A proxy takes, as
options here and as requests to http://127.0.0.1:CONTROL/:

    --pull-after S    pull?how=drop    drop: forward and accept nothing more, close nothing; when
    --how drop|reset                   plugged again, all goes on where it was, as TCP does
                                       reset: break connections, and every new one at once
    --pull-at K       pull-at?request=K&lose=answer&how=reset
    --lose request|answer              at the K-th HTTP request from the start, before the server has
                                       seen it, or once the server has begun to answer
    --plug-after S    plug             S seconds after the pull; a plug calls off a pull at K, too
                      status           {"is_plugged":, "requests":, "connections":, "open":} as JSON

With --until-eof it ends when its standard input does, so that it cannot outlive who started it.  In
Python, class Blackhole does it all."""
import argparse
import asyncio
import json
import re
import socket
import struct
import subprocess
import sys
import urllib.parse
import urllib.request

REQUEST = re.compile(rb"(?:^|\r\n|\n)(?:GET|HEAD|POST|PUT|PATCH|DELETE) \S+ HTTP/1\.[01]\r\n")
NO_LINGER = struct.pack("ii", 1, 0)  # close() sends a reset


class Blackhole:
    """This program as a child, for `with`: port, pull(how=), plug(), pull_at(request=...), status()."""

    def __init__(self, *arguments):
        self.child = subprocess.Popen([sys.executable, __file__, "--until-eof", *map(str, arguments)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.child.stdout.readline().split()
        if len(line) != 2:
            raise RuntimeError(f"blackhole.py {' '.join(map(str, arguments))} did not start")
        self.port, self.control = map(int, line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        self.child.wait(60)

    def _ask(self, what, **arguments):
        url = f"http://127.0.0.1:{self.control}/{what}?{urllib.parse.urlencode(arguments)}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=60) as answer:
            return json.load(answer)

    def pull(self, how="drop"):
        return self._ask("pull", how=how)

    def pull_at(self, request, lose="request", how="drop"):
        return self._ask("pull-at", request=request, lose=lose, how=how)

    def plug(self):
        return self._ask("plug")

    def status(self):
        return self._ask("status")


class Backlog:
    """A listening socket whose backlog can be filled, so that the kernel drops every SYN."""

    def __init__(self, port, take):
        self.take = take  # called with each connection
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.setblocking(False)
        self.socket.bind(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.fillers = {}  # by port
        self.drain()

    def fill(self):
        asyncio.get_running_loop().remove_reader(self.socket)
        self.socket.listen(0)  # room for one
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", self.port))
            self.fillers[filler.getsockname()[1]] = filler

    def drain(self):
        for filler in self.fillers.values():
            filler.close()
        self.socket.listen(128)
        while self.accept():
            pass
        self.fillers.clear()
        asyncio.get_running_loop().add_reader(self.socket, self.accept)

    def accept(self):
        try:
            connection, peer = self.socket.accept()
        except OSError:
            return False
        if peer[1] in self.fillers:
            connection.close()
        else:
            connection.setblocking(False)
            self.take(connection)
        return True


class Cable:
    def __init__(self, port, server):
        self.server = server  # (host, port); None: all is read and nothing answered
        self.plugged = asyncio.Event()
        self.plugged.set()
        self.how = "drop"
        self.pull_request = 0  # 0: at none
        self.lose = "request"
        self.plug_after = None
        self.requests = 0
        self.connections = 0
        self.links = set()  # (client's writer, server's writer)
        self.tasks = set()
        self.backlog = Backlog(port, self.take)

    def pull(self, how=None):
        if not self.plugged.is_set():
            return
        self.how = how or self.how
        self.plugged.clear()
        self.pull_request = 0
        if self.how == "reset":
            for link in list(self.links):
                self.reset(link)
        else:
            self.backlog.fill()
        if self.plug_after is not None:
            asyncio.get_running_loop().call_later(self.plug_after, self.plug)

    def plug(self):
        self.pull_request = 0  # a pull that was due has no more to come
        if not self.plugged.is_set():
            self.plugged.set()
            if self.how == "drop":
                self.backlog.drain()

    def pull_at(self, request, lose="request", how=None):
        self.pull_request, self.lose, self.how = request, lose, how or self.how

    @staticmethod
    def reset(link):
        for writer in link:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            writer.transport.abort()

    def take(self, connection):
        if not self.plugged.is_set():
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
            connection.close()
            return
        self.connections += 1
        task = asyncio.create_task(self.forward(connection))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def forward(self, connection):
        reader, writer = await asyncio.open_connection(sock=connection)
        if self.server is None:
            self.links.add((writer,))
            while await reader.read(65536):
                pass
            return
        try:
            server_reader, server_writer = await asyncio.open_connection(*self.server)
        except OSError:
            self.reset((writer,))
            return
        link = (writer, server_writer)
        self.links.add(link)
        await asyncio.gather(self.pump(reader, server_writer, self.on_request),
                             self.pump(server_reader, writer, self.on_answer), return_exceptions=True)
        self.links.discard(link)
        for end in link:
            end.close()

    async def pump(self, reader, writer, look):
        while data := await reader.read(65536):
            look(data)
            await self.plugged.wait()
            if writer.is_closing():  # by a reset
                return
            writer.write(data)
            await writer.drain()
        await self.plugged.wait()
        writer.write_eof()

    def on_request(self, data):
        self.requests += len(REQUEST.findall(data))
        if self.pull_request and self.requests >= self.pull_request and self.lose == "request":
            self.pull()

    def on_answer(self, _):
        if self.pull_request and self.requests >= self.pull_request and self.lose == "answer":
            self.pull()

    def status(self):
        return {"is_plugged": self.plugged.is_set(), "requests": self.requests,
                "connections": self.connections, "open": len(self.links)}


async def control(cable, reader, writer):
    line = (await reader.readline()).decode(errors="replace").split()
    while (await reader.readline()).strip():
        pass
    url = urllib.parse.urlsplit(line[1] if len(line) > 1 else "/")
    arguments = dict(urllib.parse.parse_qsl(url.query))
    code = "200 OK"
    try:
        if url.path == "/pull-at":
            cable.pull_at(**{**arguments, "request": int(arguments["request"])})
        else:
            {"/pull": cable.pull, "/plug": cable.plug, "/status": cable.status}[url.path](**arguments)
    except (KeyError, TypeError, ValueError):
        code = "400 Bad Request"
    body = json.dumps(cable.status())
    head = f"HTTP/1.1 {code}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write((head + body).encode())
    await writer.drain()
    writer.close()


def address(text):
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host, int(port)


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kind", choices=["silent", "full", "proxy"])
    parser.add_argument("server", nargs="?", type=address)
    parser.add_argument("--port", type=int, default=0, help="0: a free one")
    parser.add_argument("--pull-after", type=float)
    parser.add_argument("--pull-at", type=int, default=0)
    parser.add_argument("--lose", choices=["request", "answer"], default="request")
    parser.add_argument("--how", choices=["drop", "reset"], default="drop")
    parser.add_argument("--plug-after", type=float)
    parser.add_argument("--until-eof", action="store_true")
    given = parser.parse_args()
    if (given.kind == "proxy") != (given.server is not None):
        parser.error("a proxy, and nothing else, has a server")
    return given


async def main():
    given = options()
    loop = asyncio.get_running_loop()
    cable = Cable(given.port, given.server)
    cable.pull_at(given.pull_at, given.lose, given.how)
    cable.plug_after = given.plug_after
    if given.kind == "full":
        cable.pull("drop")
    elif given.pull_after is not None:
        loop.call_later(given.pull_after, cable.pull)
    panel = await asyncio.start_server(lambda r, w: control(cable, r, w), "127.0.0.1", 0)
    print(cable.backlog.port, panel.sockets[0].getsockname()[1], flush=True)
    if given.until_eof:
        await loop.run_in_executor(None, sys.stdin.read)
    else:
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
