#!/usr/bin/env python3
"""Full load with connections opening and closing: memory must stay flat, no descriptor may leak.

    servers/proof/soak.py [SECONDS]    600 by default

hello and https are loaded at once, each by one wrk that keeps its connections and one that opens one
for every request. Resident memory and open descriptors are sampled each second. Needs wrk.
"""

import os
import shutil
import subprocess
import sys
import time

import servers
from checks import WARMUP_S, Checks
from servers import Server

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


def leaks_nothing(checks, server, before):
    """A server without clients must have the descriptors it had before."""
    waited = servers.await_condition(lambda: server.open_files() <= before, patience_s=15)
    checks.check(server.name, waited is not None,
                 f"{before} descriptors before the load, {server.open_files()} after")


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
    checks = Checks()
    with Server("hello") as hello, Server("https") as https:
        loaded = (hello, https)
        before = [files_at_rest(server) for server in loaded]
        loads = [process for server in loaded for process in load(server, seconds)]
        samples = sample(loaded, loads)
        print_table(samples)
        answered = report_load(loads)
        for server, descriptors in zip(loaded, before):
            checks.is_flat(server.name, [kib for kib, _ in samples[server.name]])
            leaks_nothing(checks, server, descriptors)
    sys.exit(not (answered and checks.passed))


if __name__ == "__main__":
    main()
