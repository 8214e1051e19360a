#!/usr/bin/env python3
"""A long run at a fixed rate: memory of generator and servers flat, totals exact.

    servers/proof/long_run.py [SECONDS [CONNECTIONS]]    3600 and 1000 by default

Two loads at once: on upload CONNECTIONS that are kept, on https a tenth of the rate with a connection
for each request, so that connections open and close all the time. Resident memory is sampled each second
and its curve is printed. upload counts requests and bytes itself: both must be what loadgen says to the
last one.

    servers/proof/long_run.py crowd    10,000 connections on each of the servers, one after the other
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time
import urllib.request

import servers
from servers import RELEASE, Server

RATE_PER_S = 2000
BODY = "x" * 1095
CROWD = 10_000
# As in soak.py: growth of the second half's median that is still called flat.
FLAT_RATIO, FLAT_KIB = 1.05, 1024
WARMUP_S = 10
ROWS = 24
# What each server is asked in a crowd.
ASKS = {
    "hello": (["/"], 5000), "https": (["-k", "/"], 2000), "png": (["/logo.png"], 2000),
    "json": (["-k", "-b", '{"urlToEmbed":"https://example.com/{rand:45}"}', "-H", "Content-Type: application/json", "/"], 2000),
    "qr": (["-k", "-b", '{"urlToEmbed":"https://example.com/{rand:45}"}', "-H", "Content-Type: application/json", "/qr"], 1000),
    "fib": (["/fibonacci/10"], 2000), "upload": (["-b", BODY, "/"], 2000),
}


def loadgen(server, arguments):
    """Starts a load; the last argument is the path."""
    *options, path = arguments
    command = [RELEASE / "loadgen", "run", "--format", "json", *options, server.url + path]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result_of(process):
    out, err = process.communicate(timeout=120)
    if process.returncode not in (0, 1):
        raise SystemExit(f"loadgen ended with {process.returncode}: {err}")
    return json.loads(out)


def rss_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) if found else None


def check(what, holds, found):
    print(f"{'ok  ' if holds else 'FAIL'}  {what}: {found}", flush=True)
    return bool(holds)


def sample(pids, loads):
    """Resident memory by name, each second, until a load ends."""
    samples = {name: [] for name in pids}
    started = time.monotonic()
    while all(load.poll() is None for load in loads):
        for name, pid in pids.items():
            with contextlib.suppress(OSError):
                samples[name].append(rss_kib(pid))
        time.sleep(max(0, started + len(samples["upload"]) - time.monotonic()))
    return {name: [kib for kib in curve if kib] for name, curve in samples.items()}


def print_curve(samples):
    print("second  " + "  ".join(f"{name + ' MiB':>18}" for name in samples))
    count = min(len(curve) for curve in samples.values())
    for second in range(0, count, max(1, count // ROWS)):
        print(f"{second:>6}  " + "  ".join(f"{curve[second] / 1024:>18.1f}" for curve in samples.values()))


def is_flat(name, curve):
    curve = curve[WARMUP_S:]
    half = len(curve) // 2
    first, second = statistics.median(curve[:half]), statistics.median(curve[half:])
    flat = second <= max(first * FLAT_RATIO, first + FLAT_KIB)
    return check(f"{name}: memory is flat", flat, f"{first / 1024:.1f} MiB in the first half, {second / 1024:.1f} in the second")


def is_exact(name, result):
    requests, due = result["requests"], result["schedule"]["due"]
    good = check(f"{name}: nothing failed", not result["errors"], result["errors"])
    good &= check(f"{name}: every request that was due was sent and completed",
                  requests["completed"] + requests["in_flight_at_end"] == requests["sent"] == due,
                  f"{due} due, {requests}")
    return good


def long(seconds, connections):
    kept = ["-c", str(connections), "--rate", str(RATE_PER_S), "-d", f"{seconds}s", "-b", BODY, "/"]
    closing = ["-k", "--no-keepalive", "-c", "100", "--rate", str(RATE_PER_S // 10), "-d", f"{seconds}s", "/"]
    with Server("upload", "--workers", "1") as upload, Server("https", "--workers", "1") as https:
        loads = [loadgen(upload, kept), loadgen(https, closing)]
        pids = {"upload": upload.pid, "https": https.pid, "loadgen, kept": loads[0].pid, "loadgen, closing": loads[1].pid}
        samples = sample(pids, loads)
        first, second = map(result_of, loads)
        stats = json.load(urllib.request.urlopen(f"{upload.url}/stats"))
        print_curve(samples)
        passed = all([is_flat(name, curve) for name, curve in samples.items()])
        passed &= is_exact("upload", first) & is_exact("https", second)
        sent = first["requests"]["sent"]
        passed &= check("upload: the server counted the same", (stats["requests"], stats["bytes"]) == (sent, sent * len(BODY)),
                        f"{stats['requests']} requests, {stats['bytes']} bytes; sent {sent} of {len(BODY)} bytes")
        opened = second["connects"]["established"]
        passed &= check("https: a connection for each request", opened >= second["requests"]["sent"], f"{opened} opened")
    return passed


def crowd():
    passed = True
    for name, (arguments, rate) in ASKS.items():
        with Server(name) as server:
            *options, path = arguments
            process = loadgen(server, ["-c", str(CROWD), "-n", str(2 * CROWD), "--rate", str(rate), "--connect-timeout", "60s", *options, path])
            result = result_of(process)
            requests, open_ = result["requests"], result["connects"]["peak_open"]
            passed &= check(f"{name}: {CROWD} connections, two requests on each",
                            requests["completed"] == 2 * CROWD and open_ == CROWD and not result["errors"],
                            f"{open_} open, {requests['completed']} completed, {result['errors'] or 'no errors'}, server {server.rss_kib() / 1024:.0f} MiB")
    return passed


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    arguments = sys.argv[1:]
    is_crowd = arguments[:1] == ["crowd"]
    servers.build(*(servers.NAMES if is_crowd else ("upload", "https")))
    if not os.environ.get("NO_BUILD"):
        servers.run("cargo", "build", "--release", "--locked", "--quiet", "-p", "loadgen")
    if is_crowd:
        if hard < CROWD + 500:
            raise SystemExit(f"10,000 connections need {CROWD + 500} open files; `ulimit -Hn` says {hard}")
        sys.exit(not crowd())
    seconds = int(arguments[0]) if arguments else 3600
    connections = int(arguments[1]) if arguments[1:] else 1000
    if seconds < 3 * WARMUP_S:
        raise SystemExit(f"long_run.py takes at least {3 * WARMUP_S} seconds")
    sys.exit(not long(seconds, connections))


if __name__ == "__main__":
    main()
