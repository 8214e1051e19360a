#!/usr/bin/env python3
"""What memory the release servers take, against their budgets.

    servers/proof/memory.py

Resident memory with one worker: idle, under load, with 10,000 open connections that have had one
answer each, and while an upload of 100 MB goes on. Exits with 1 when a budget is exceeded. Needs wrk,
and 10,500 files for the client and for the server (`ulimit -n`).
"""

import resource
import shutil
import subprocess
import sys
import time

import servers
from servers import Server

MIB = 1024  # in KiB, as proc(5) counts
CROWD = 10_000
UPLOAD_BYTES = 100_450_390
# Idle connections give their buffers back within this time.
SETTLED_S = 4


class Table:
    """Prints a row for each figure, and remembers whether all were within their budgets."""

    def __init__(self):
        self.within = True
        print(f"{'what':<48} {'MiB':>7} {'budget':>7}")

    def row(self, what, kib, budget_mib=None):
        exceeded = budget_mib is not None and kib > budget_mib * MIB
        self.within &= not exceeded
        budget = "" if budget_mib is None else f"{budget_mib}"
        verdict = "  EXCEEDED" if exceeded else ""
        print(f"{what:<48} {kib / MIB:>7.1f} {budget:>7}{verdict}", flush=True)


def idle(table):
    for name in servers.NAMES:
        with Server(name, "--workers", "1") as server:
            table.row(f"{name}, idle", server.rss_kib(), 8)


def loaded(table):
    for name in ("hello", "https"):
        with Server(name, "--workers", "1") as server:
            command = ["wrk", "-t1", "-c300", "-d4s", server.url]
            load = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            peak = sample_peak(server, load)
            table.row(f"{name}, 300 connections under load, peak", peak, 16 if name == "hello" else None)


def sample_peak(server, load):
    peak = 0
    while load.poll() is None:
        peak = max(peak, server.rss_kib())
        time.sleep(0.02)
    return peak


def crowded(table):
    for name in ("hello", "https"):
        with Server(name, "--workers", "1") as server:
            before = server.rss_kib()
            streams = []
            for _ in range(CROWD):
                stream = server.connect()
                stream.sendall(servers.request(name))
                status, _ = servers.read_answer(stream)
                assert status == 200, status
                streams.append(stream)
            busy = server.rss_kib()
            time.sleep(SETTLED_S)
            settled = server.rss_kib()
            table.row(f"{name}, {CROWD:,} connections, as the last is answered", busy)
            table.row(f"{name}, {CROWD:,} connections, idle", settled, 130)
            print(f"{'':<4}{(settled - before) * 1024 / CROWD:,.0f} bytes for each connection")
            for stream in streams:
                stream.close()
            emptied = servers.await_condition(lambda: server.open_files() < 100, 30)
            table.row(f"{name}, after they have closed", server.rss_kib())
            if emptied is None:
                raise SystemExit(f"{name} kept {server.open_files()} descriptors of closed connections")


def uploading(table):
    with Server("upload", "--workers", "1") as server:
        piece = bytes(1 << 20)
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n"
        peak = 0
        with server.connect() as stream:
            stream.sendall(head.encode())
            left = UPLOAD_BYTES
            while left:
                sent = min(left, len(piece))
                stream.sendall(piece[:sent])
                left -= sent
                peak = max(peak, server.rss_kib())
            status, _ = servers.read_answer(stream)
            assert status == 204, status
        table.row(f"upload, {UPLOAD_BYTES:,} bytes, peak", peak, 12)


def main():
    if not shutil.which("wrk"):
        raise SystemExit("memory.py needs wrk (Debian: apt-get install wrk)")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD + 500:
        raise SystemExit(f"memory.py needs {CROWD + 500} open files; `ulimit -Hn` says {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    servers.build(*servers.NAMES)
    table = Table()
    for measure in (idle, loaded, crowded, uploading):
        measure(table)
    sys.exit(not table.within)


if __name__ == "__main__":
    main()
