# SPDX-License-Identifier: MIT
"""Python stacks read from the memory of running interpreters, against what the interpreters say themselves.
Arguments: python_frames [--record DIRECTORY] [COMMAND...]; each COMMAND starts an interpreter, in place of those
of PATH and pyenv."""
import glob
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import sys

# Frames of every kind, waiting in C code; and a stack that is longer than a chunk of frames.
PROGRAM = r'''
import json, os, sys, threading

try:  # who reads it is no parent of it (kernel.yama.ptrace_scope 1)
    import ctypes
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
except ImportError:
    pass

class Job:
    def run(self, values):
        return sorted(values, key=lambda v: self.größe(v))

    def größe(self, v):
        return next(生成(v))

def 生成(v):
    for item in [1]:
        yield comprehend(v)

def comprehend(v):
    return [wait(main_ready, main_go)
            for _ in range(1)]

def wait(ready, go):
    os.write(ready, b".")
    return os.read(go, 1) and 1

def deep(n):
    a0=a1=a2=a3=a4=a5=a6=a7=a8=a9=b0=b1=b2=b3=b4=b5=b6=b7=b8=b9=n
    c0=c1=c2=c3=c4=c5=c6=c7=c8=c9=d0=d1=d2=d3=d4=d5=d6=d7=d8=d9=n
    e0=e1=e2=e3=e4=e5=e6=e7=e8=e9=f0=f1=f2=f3=f4=f5=f6=f7=f8=f9=n
    if n == 0:
        return wait(deep_ready, deep_go)
    return deep(
        n - 1)

# Coroutines that wait for each other in three tasks, from 3.14 on.
async def top():
    async with asyncio.TaskGroup() as group:
        group.create_task(middle())

async def middle():
    await asyncio.gather(lower())

async def lower():
    task = asyncio.create_task(bottom())
    await task

async def bottom():
    await step()

async def step():
    global running
    running = asyncio.current_task()
    wait(tasks_ready, tasks_go)

def await_all():
    asyncio.run(top())

has_tasks = sys.version_info >= (3, 14)
main_ended, main_ready = os.pipe()
main_wait, _main_go = os.pipe()
deep_ended, deep_ready = os.pipe()
deep_wait, _deep_go = os.pipe()
main_go, deep_go = main_wait, deep_wait
tasks_ended, tasks_ready = os.pipe()
tasks_go, _tasks_go = os.pipe()
thread = threading.Thread(target=deep, args=(40,))
waiting = threading.Thread(target=await_all)

def text_of(frame):
    code = frame.f_code
    return f"{frame.f_lineno} {getattr(code, 'co_qualname', code.co_name)}\t{code.co_filename}"

def waiting_for(task):
    found = []
    while (tasks := task._asyncio_awaited_by or ()) and len(tasks) == 1:
        (task,), chain = tasks, []
        coroutine = task.get_coro()
        while isinstance(coroutine, type(task.get_coro())):
            chain.append(text_of(coroutine.cr_frame))
            coroutine = coroutine.cr_await
        found += reversed(chain)
    return found

def frames_of(ident):
    frame, found = sys._current_frames()[ident], []
    while frame is not None:
        found.append(text_of(frame))
        if has_tasks and frame is running.get_coro().cr_frame:
            found += waiting_for(running)
        frame = frame.f_back
    return found

def settled(number):
    """Waits until a thread is in read(), and returns its stack pointer."""
    while True:
        with open(f"/proc/self/task/{number}/syscall") as file:
            words = file.read().split()
        if words[0] == {"x86_64": "0"}.get(os.uname().machine, "63"):
            return words[-2]

def observe():
    os.read(main_ended, 1)
    os.read(deep_ended, 1)
    main = threading.main_thread()
    settled(main.native_id)
    stack = settled(thread.native_id)
    tasks = {}
    if has_tasks:
        os.read(tasks_ended, 1)
        settled(waiting.native_id)
        tasks["tasks"] = {"thread": waiting.native_id, "stack": "0", "frames": frames_of(waiting.ident)}
    json.dump({
        "pid": os.getpid(),
        "main": {"thread": main.native_id, "stack": "0", "frames": frames_of(main.ident)},
        "deep": {"thread": thread.native_id, "stack": stack, "frames": frames_of(thread.ident)},
        **tasks,
    }, sys.stdout)
    print(flush=True)
    sys.stdin.read()
    os._exit(0)

if has_tasks:
    import asyncio
    waiting.start()
thread.start()
threading.Thread(target=observe).start()
Job().run([3])
'''
START = "exec(compile(open({!r}, encoding='utf-8').read(), '/srv/app/train.py', 'exec'))"

failures = 0


def check(condition, *what):
    global failures
    if not condition and (failures := failures + 1) < 20:
        print("wrong:", *what)


def sections(data):
    """(name, address, offset, size, link) of each section of a 64-bit ELF file."""
    table, entry, count, names = struct.unpack_from("<Q10xHHH", data, 40)
    rows = [struct.unpack_from("<IIQQQQII", data, table + i * entry) for i in range(count)]
    texts = rows[names][4]
    for name, _, _, address, offset, size, link, _ in rows:
        yield data[texts + name:data.index(b"\0", texts + name)], address, offset, size, link


def runtime_in(path):
    """The address of _PyRuntime in a file; None: not there."""
    data = pathlib.Path(path).read_bytes()
    rows = list(sections(data))
    for name, address, *_ in rows:
        if name == b".PyRuntime":
            return address
    for name, _, offset, size, link in rows:
        for at in range(offset, offset + size, 24) if name == b".dynsym" else ():
            text, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if data.startswith(b"_PyRuntime\0", rows[link][2] + text):
                return value
    return None


def bias_of(path, start):
    """Address of a file's first mapping, less the address that its first segment asks for."""
    data = pathlib.Path(path).read_bytes()
    table, entry, count = struct.unpack_from("<Q14xHH", data, 32)
    loads = [struct.unpack_from("<II4Q", data, table + i * entry) for i in range(count)]
    first = min((offset, address) for kind, _, offset, address, *_ in loads if kind == 1)
    return start - (first[1] - first[0])


def runtime_of(pid):
    seen = set()
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        words = line.split(None, 5)
        path = words[5] if len(words) > 5 else ""
        if "python3" not in os.path.basename(path) or path in seen:
            continue
        seen.add(path)
        address = runtime_in(path)
        if address is not None:
            return bias_of(path, int(words[0].split("-")[0], 16)) + address
    raise SystemExit(f"no _PyRuntime in process {pid}")


def tasks_of(pid):
    """The words of asyncio's section, from the file that a process has it from; "-": none."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        path = (line.split(None, 5) + [""])[5]
        if re.search("python3|_asyncio", os.path.basename(path)):
            data = pathlib.Path(path).read_bytes()
            for name, _, offset, size, _ in sections(data):
                if name == b".AsyncioDebug":
                    return ",".join(map(str, struct.unpack_from(f"<{size // 8}Q", data, offset)))
    return "-"


def interpreters():
    found = {}
    homes = os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")
    for path in [*glob.glob(f"{homes}/versions/3.*/bin/python3.[0-9]*"),
                 *(shutil.which(f"python3.{minor}") or "" for minor in range(9, 16))]:
        if re.search(r"python3\.(9|1[0-5])$", path) and "/shims/" not in path:
            found.setdefault(os.path.basename(path), [path])
    return found.values()


def version_of(command):
    words = "import sys; print(*sys.version_info[:3])"
    return tuple(map(int, subprocess.check_output([*command, "-c", words], text=True).split()))


def look_at(tool, command, record):
    version = version_of(command)
    program = pathlib.Path(f"python_frames_target.{os.getpid()}.py")
    program.write_text(PROGRAM, encoding="utf-8")
    with subprocess.Popen([*command, "-c", START.format(str(program))], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as target:
        line = target.stdout.readline()
        if not line:
            print("skipped: the kernel does not tell in which system call a thread is (/proc/self/task/*/syscall)")
            sys.exit(77)
        said = json.loads(line)
        runtime = runtime_of(said["pid"])
        tasks = tasks_of(said["pid"])
        for name in ("main", "deep", *(["tasks"] if "tasks" in said else [])):
            thread = said[name]
            words = [tool, str(said["pid"]), str(version[1]), f"{runtime:x}", str(thread["thread"]), thread["stack"],
                     tasks]
            got = subprocess.run(words, stdout=subprocess.PIPE, text=True)
            if got.returncode == 77:
                print("skipped: another process's memory may not be read here")
                sys.exit(77)
            frames = [line.lstrip("*") for line in got.stdout.splitlines()]
            check(frames == thread["frames"], f"{version} {name}:", frames, "and not", thread["frames"])
            if record:
                text = "\n".join(thread["frames"]) + "\n"
                image = subprocess.check_output([*words, "image"], input=text, text=True)
                pathlib.Path(record, f"{version[0]}.{version[1]}-{name}").write_text(image, encoding="utf-8")
        target.stdin.close()
    program.unlink()
    counts = [len(thread["frames"]) for thread in said.values() if isinstance(thread, dict)]
    print(f"Python {'.'.join(map(str, version))}: {', '.join(map(str, counts))} frames")


def main():
    tool, *rest = sys.argv[1:]
    record = None
    if rest[:1] == ["--record"]:
        record, rest = rest[1], rest[2:]
    commands = [shlex.split(words) for words in rest] or list(interpreters())
    for command in commands:
        look_at(tool, command, record)
    if not commands:
        print("skipped: no Python of 3.9 to 3.15 in PATH or of pyenv")
        return 77
    return 1 if failures else 0


sys.exit(main())
