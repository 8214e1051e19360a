#!/usr/bin/env python3
"""Full load with connections opening and closing: memory must stay flat, no descriptor may leak.

    servers/proof/soak.py [SECONDS]    600 by default

hello and https are loaded at once, each by one wrk that keeps its connections and one that opens one
for every request. Resident memory and open descriptors are sampled each second. Needs wrk.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

import servers
from servers import Server

# Growth of the second half's median over the first's that is still called flat: what an allocator
# moves about. A leak of a byte for each request would be ten times that in ten minutes.
FLAT_RATIO = 1.05
FLAT_KIB = 1024
# Seconds at the start that are not compared: every buffer is made once.
WARMUP_S = 10
ROWS = 20


def files_at_rest(server):
    """The descriptors of a server whose workers have all served, and which has no connection."""
    streams = [server.connect() for _ in range(2 * os.cpu_count())]
    for stream in streams:
        stream.sendall(servers.request(server.name))
        servers.read_answer(stream)
    most = server.open_files()
    for stream in streams:
        stream.close()
    at_rest = most - len(streams)
    if servers.await_condition(lambda: server.open_files() <= at_rest, patience_s=15) is None:
        raise SystemExit(f"{server.name} keeps descriptors of closed connections")
    return at_rest


def load(server, seconds):
    """Starts the load on a server."""
    wrk = ["wrk", "-t1", f"-d{seconds}s"]
    closing = ["-H", "Connection: close"]
    for arguments in (["-c50", server.url], ["-c20", *closing, server.url]):
        yield subprocess.Popen([*wrk, *arguments], stdout=subprocess.PIPE, text=True)


def sample(loaded, loads):
    """Samples until the loads have ended: for each server its (KiB, descriptors) by the second."""
    samples = {server.name: [] for server in loaded}
    started = time.monotonic()
    while any(load.poll() is None for load in loads):
        for server in loaded:
            samples[server.name].append((server.rss_kib(), server.open_files()))
        time.sleep(max(0, started + len(samples["hello"]) - time.monotonic()))
    return samples


def print_table(samples):
    names = list(samples)
    print("second  " + "  ".join(f"{name + ' MiB':>10} {'files':>6}" for name in names))
    count = len(samples[names[0]])
    for second in range(0, count, max(1, count // ROWS)):
        cells = (samples[name][second] for name in names)
        print(f"{second:>6}  " + "  ".join(f"{kib / 1024:>10.1f} {files:>6}" for kib, files in cells))


def is_flat(name, rows):
    """Whether the second half of the samples is no more than the first. Says what it found."""
    rows = rows[WARMUP_S:]
    half = len(rows) // 2
    first, second = (statistics.median(kib for kib, _ in part) for part in (rows[:half], rows[half:]))
    flat = second <= max(first * FLAT_RATIO, first + FLAT_KIB)
    print(f"{'ok  ' if flat else 'FAIL'}  {name}: {first / 1024:.1f} MiB in the first half, "
          f"{second / 1024:.1f} in the second")
    return flat


def leaks_nothing(server, before):
    """Whether a server without clients has the descriptors it had before."""
    waited = servers.await_condition(lambda: server.open_files() <= before, patience_s=15)
    print(f"{'FAIL' if waited is None else 'ok  '}  {server.name}: {before} descriptors before the load, "
          f"{server.open_files()} after")
    return waited is not None


def report_load(loads):
    """Prints what the loads did. False when one met an answer that is not 200."""
    good = True
    for process in loads:
        text = process.stdout.read()
        kept = "new connections" if "close" in " ".join(process.args) else "kept connections"
        lines = [line.strip() for line in text.splitlines() if "requests in" in line or "Socket errors" in line or "Non-2xx" in line]
        print(f"      {process.args[-1]}, {kept}: {'; '.join(lines)}")
        good &= "Non-2xx" not in text and "requests in" in text
    return good


def main():
    seconds = int(sys.argv[1]) if sys.argv[1:] else 600
    if seconds < 3 * WARMUP_S:
        raise SystemExit(f"soak.py takes at least {3 * WARMUP_S} seconds")
    if not shutil.which("wrk"):
        raise SystemExit("soak.py needs wrk (Debian: apt-get install wrk)")
    servers.build("hello", "https")
    with Server("hello") as hello, Server("https") as https:
        loaded = (hello, https)
        before = [files_at_rest(server) for server in loaded]
        loads = [process for server in loaded for process in load(server, seconds)]
        samples = sample(loaded, loads)
        print_table(samples)
        passed = report_load(loads)
        for server, descriptors in zip(loaded, before):
            passed &= is_flat(server.name, samples[server.name])
            passed &= leaks_nothing(server, descriptors)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
