"""The release servers, started on free ports and stopped by their process id."""

import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
NAMES = ["hello", "https", "json", "png", "qr", "fib", "upload"]

# Accepts any certificate. One for all connections: to make one takes milliseconds.
TLS_CLIENT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS_CLIENT.check_hostname, TLS_CLIENT.verify_mode = False, ssl.CERT_NONE


def build(*names, examples=()):
    """Builds the named scenarios' servers in release, and examples given as (package, example).

    With NO_BUILD in the environment the programs that are there are used.
    """
    if os.environ.get("NO_BUILD"):
        return
    packages = [f"-p=server-{name}" for name in names]
    if names:
        run("cargo", "build", "--release", "--locked", "--quiet", "--bins", *packages)
    for package, example in examples:
        run("cargo", "build", "--release", "--locked", "--quiet", "-p", package, "--example", example)


def build_loadgen():
    """Builds the load generator in release, unless NO_BUILD says not to."""
    if not os.environ.get("NO_BUILD"):
        run("cargo", "build", "--release", "--locked", "--quiet", "-p", "loadgen")


def rss_kib(pid, field="VmRSS"):
    """Resident memory of a process; None for one that has ended and is not waited for yet."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+)", status)
    return int(found[1]) if found else None


def run(*command):
    subprocess.run(command, cwd=ROOT, check=True)


class Server:
    """A program that prints where it listens. As a context manager it is stopped at the end."""

    def __init__(self, name, *args, prefix=(), env=None, program=None, patience_s=60):
        self.name = name
        program = program or RELEASE / f"server-{name}"
        environment = {**os.environ, "HOST": "127.0.0.1", "PORT": "0", **(env or {})}
        self.process = subprocess.Popen(
            [*prefix, str(program), *args],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT,
        )
        self.pid = self.process.pid
        ready, _, _ = select.select([self.process.stdout], [], [], patience_s)
        line = self.process.stdout.readline().decode() if ready else ""
        address = re.search(r"(https?)://([\d.]+):(\d+)", line)
        if not address:
            self.process.kill()
            raise SystemExit(f"{program} did not say where it listens: {line!r}")
        self.scheme, self.port = address[1], int(address[3])
        self.url = address[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, patience_s=30):
        """Asks it to end, and returns its exit status."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise SystemExit(f"{self.name} did not stop within {patience_s} s of SIGTERM")

    def connect(self):
        """A connection to it, after the TLS handshake where there is one."""
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.scheme == "https":
            stream = TLS_CLIENT.wrap_socket(stream, server_hostname="localhost")
        return stream

    def rss_kib(self):
        """Resident memory of the process."""
        return rss_kib(self.pid)

    def peak_rss_kib(self):
        """The most resident memory it has had."""
        return rss_kib(self.pid, "VmHWM")

    def open_files(self):
        """How many descriptors it has."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def thread_cpu_s(self):
        """CPU time so far by thread, the busiest first: the first field of `schedstat`, nanoseconds."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task").iterdir()
        return sorted((int((task / "schedstat").read_text().split()[0]) / 1e9 for task in tasks), reverse=True)


def request(scenario, unique=0):
    """The bytes of a usual request. Texts to embed are 65 characters, different by `unique`."""
    if scenario in ("hello", "https"):
        return b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if scenario == "png":
        return b"GET /logo.png HTTP/1.1\r\nHost: localhost\r\n\r\n"
    if scenario == "fib":
        return b"GET /fibonacci/20 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    path = {"json": "/", "qr": "/qr"}[scenario]
    text = f"https://example.com/articles/2026/runtimes?reader=r{unique:014d}"
    body = json.dumps({"urlToEmbed": text}, separators=(",", ":"))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


def read_answer(stream):
    """Reads one answer with a Content-Length. Returns its status and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(stream)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    length = int(length[1]) if length else 0
    while len(body) < length:
        body += receive(stream)
    return int(head.split()[1]), body


def receive(stream):
    data = stream.recv(65536)
    if not data:
        raise SystemExit("the server closed a connection in the middle of an answer")
    return data


def await_condition(holds, patience_s, every_s=0.1):
    """Waits until `holds()`; returns the seconds it took, or None when it never did."""
    started = time.monotonic()
    while time.monotonic() - started < patience_s:
        if holds():
            return time.monotonic() - started
        time.sleep(every_s)
    return None
