#!/usr/bin/env python3
"""A long run at a fixed rate: memory of generator and servers flat, totals exact.

    servers/proof/long_run.py [SECONDS [CONNECTIONS]]    3600 and 1000 by default

Two loads at once: on upload CONNECTIONS that are kept, on https as many that serve one request each, at
a tenth of the rate, so that connections open and close all the time. Resident memory is sampled each
second. upload counts requests and bytes itself: both must be what loadgen says to the last one. None of it
asks how fast the machine is, so a busy one passes too.

    servers/proof/long_run.py crowd    10,000 connections on each of the servers, one after the other

`--keep FILE` keeps what was found as JSON; `--write FILE...` measures nothing and writes the tables of such
files into docs/method.md.
"""

import argparse
import contextlib
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import servers
from checks import WARMUP_S, Checks
from servers import RELEASE, Server

PAGE = servers.ROOT / "docs" / "method.md"
RATE_PER_S = 1000
BODY = "x" * 1095
CROWD = 10_000
CROWD_MIB = 130
ROWS = 12
# Requests that were due when the time was up and were not sent: those of a machine that was busy then.
LATE = 0.01
EMBED = ["-k", "-b", '{"urlToEmbed":"https://example.com/{rand:45}"}', "-H", "Content-Type: application/json"]
# What each server is asked in a crowd, and how often in a second.
ASKS = {
    "hello": (["/"], 5000), "https": (["-k", "/"], 2000), "json": ([*EMBED, "/"], 2000),
    "png": (["/logo.png"], 2000), "qr": ([*EMBED, "/qr"], 1000), "fib": (["/fibonacci/10"], 2000),
    "upload": (["-b", BODY, "/"], 2000),
}


class Load:
    """A `loadgen run` beside this script. As a context manager it is gone at the end."""

    def __init__(self, server, *arguments):
        """The last argument is the path."""
        *options, path = arguments
        # Not pipes: nobody reads them while the load runs.
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        command = [RELEASE / "loadgen", "run", "--format", "json", *options, server.url + path]
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.err)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def runs(self):
        return self.process.poll() is None

    def result(self):
        status = self.process.wait(300)
        for stream in (self.out, self.err):
            stream.seek(0)
        if status not in (0, 1):
            raise SystemExit(f"loadgen ended with {status}: {self.err.read()}")
        return json.load(self.out)


def adds_up(checks, name, result, due):
    requests, told = result["requests"], result["schedule"]["due"]
    checks.check(f"{name}: nothing failed", not result["errors"], result["errors"] or "no errors")
    checks.check(f"{name}: every request that was sent was completed",
                 requests["completed"] + requests["in_flight_at_end"] == requests["sent"], requests)
    checks.check(f"{name}: what was due was sent", told == due and due * (1 - LATE) <= requests["sent"] <= due,
                 f"{due} due, {told} as loadgen says, {requests['sent']} sent")


def sample(pids, loads):
    """Resident memory by name, each second, until a load ends."""
    samples = {name: [] for name in pids}
    started = time.monotonic()
    for second in range(1_000_000):
        time.sleep(max(0, started + second - time.monotonic()))
        if not all(load.runs() for load in loads):
            return samples
        for name, pid in pids.items():
            with contextlib.suppress(OSError):
                kib = servers.rss_kib(pid)
                samples[name] += [kib] if kib else []


def long(seconds, connections):
    kept = ["-c", str(connections), "--rate", str(RATE_PER_S), "-d", f"{seconds}s", "-b", BODY, "/"]
    closing = ["-k", "--no-keepalive", "--connect-timeout", "60s", "-c", str(connections),
               "--rate", str(RATE_PER_S // 10), "-d", f"{seconds}s", "/"]
    checks = Checks()
    with Server("upload", "--workers", "1") as upload, Server("https", "--workers", "1") as https:
        with Load(upload, *kept) as first, Load(https, *closing) as second:
            pids = {"server-upload": upload.pid, "server-https": https.pid,
                    "loadgen, kept": first.pid, "loadgen, closing": second.pid}
            samples = sample(pids, [first, second])
            kept, closing = first.result(), second.result()
        with urllib.request.urlopen(f"{upload.url}/stats", timeout=60) as answer:
            stats = json.load(answer)
    found = {"form": "long", "seconds": seconds, "connections": connections, "samples_kib": samples,
             "kept": kept["requests"], "closing": closing["requests"],
             "opened": closing["connects"]["established"], "stats": stats}
    print(long_table(found))
    for name, curve in samples.items():
        checks.is_flat(f"{name}: memory is flat", curve)
    adds_up(checks, "upload", kept, RATE_PER_S * seconds)
    adds_up(checks, "https", closing, RATE_PER_S // 10 * seconds)
    completed, sent = kept["requests"]["completed"], kept["requests"]["sent"]
    checks.check("upload: the server counted the same",
                 completed <= stats["requests"] <= sent and stats["bytes"] == stats["requests"] * len(BODY),
                 f"{stats['requests']} requests and {stats['bytes']} bytes counted, {completed} completed")
    checks.check("https: a connection for each request", found["opened"] >= closing["requests"]["sent"], f"{found['opened']} opened")
    return checks.passed, found


def long_table(found):
    """The memory curve in Markdown, and the totals under it."""
    samples, seconds = found["samples_kib"], found["seconds"]
    titles = ["after", *samples]
    lines = ["| " + " | ".join(titles) + " |", "|---:" * len(titles) + "|"]
    for row in range(ROWS + 1):
        at = row * seconds // ROWS
        # The last sample was taken just before the end.
        mib = [curve[min(max(at, 1), len(curve) - 1)] / 1024 for curve in samples.values()]
        lines.append(f"| {at // 60}:{at % 60:02} | " + " | ".join(f"{value:.1f}" for value in mib) + " |")
    kept, closing, stats = found["kept"], found["closing"], found["stats"]
    lines += ["", f"{kept['sent']:,} uploads on {found['connections']:,} kept connections: {kept['completed']:,} completed, "
              f"{kept['failed'] + kept['timed_out']} failed; server-upload counted {stats['requests']:,} with "
              f"{stats['bytes']:,} bytes. {closing['sent']:,} HTTPS requests with a connection each: "
              f"{closing['completed']:,} completed, {closing['failed'] + closing['timed_out']} failed, {found['opened']:,} opened.", ""]
    return "\n".join(lines)


def crowd():
    checks, found = Checks(), {"form": "crowd", "servers": {}}
    for name, (arguments, rate) in ASKS.items():
        limits = ["-c", str(CROWD), "-n", str(2 * CROWD), "--rate", str(rate), "--connect-timeout", "60s", "--timeout", "60s"]
        with Server(name) as server, Load(server, *limits, *arguments) as load:
            result = load.result()
            requests, peak = result["requests"], result["connects"]["peak_open"]
            mib = server.peak_rss_kib() / 1024
            found["servers"][name] = {"rate_per_s": rate, "open": peak, "requests": requests, "rss_mib": mib}
            checks.check(f"{name}: {CROWD} connections, less than {CROWD_MIB} MiB", mib < CROWD_MIB, f"{mib:.0f} MiB")
            checks.check(f"{name}: {CROWD} connections, two requests on each",
                         requests["completed"] == 2 * CROWD and peak == CROWD and not result["errors"],
                         f"{peak} open, {requests['completed']} completed, {result['errors'] or 'no errors'}, server {mib:.0f} MiB")
    return checks.passed, found


def crowd_table(found):
    lines = ["| server | open at once | requests/s | completed | failed | peak memory, MiB |", "|---" + "|---:" * 5 + "|"]
    for name, one in found["servers"].items():
        requests = one["requests"]
        lines.append(f"| {name} | {one['open']:,} | {one['rate_per_s']:,} | {requests['completed']:,} | "
                     f"{requests['failed'] + requests['timed_out']} | {one['rss_mib']:.0f} |")
    return "\n".join(lines) + "\n"


def write(file):
    """Writes what was found into the page, between its marks."""
    found = json.loads(file.read_text())
    form = found["form"]
    text = {"long": long_table, "crowd": crowd_table}[form](found)
    begin, end = f"<!-- {form}-run -->\n", f"<!-- /{form}-run -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(before + begin + text + end + rest.split(end, 1)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="3600", metavar="SECONDS|crowd")
    parser.add_argument("connections", nargs="?", type=int, default=1000, metavar="CONNECTIONS")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="keeps what was found")
    parser.add_argument("--write", type=pathlib.Path, nargs="+", metavar="FILE", help="writes tables into docs/method.md")
    arguments = parser.parse_args()
    if arguments.write:
        return [write(file) for file in arguments.write]
    is_crowd = arguments.what == "crowd"
    if not is_crowd and not (arguments.what.isdigit() and int(arguments.what) >= 3 * WARMUP_S):
        parser.error(f"`crowd`, or a number of seconds from {3 * WARMUP_S} on, not {arguments.what!r}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if is_crowd and hard < CROWD + 500:
        parser.error(f"{CROWD:,} connections need {CROWD + 500:,} open files; `ulimit -Hn` says {hard}")
    # So that what was started is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    servers.build(*(servers.NAMES if is_crowd else ("upload", "https")))
    servers.build_loadgen()
    passed, found = crowd() if is_crowd else long(int(arguments.what), arguments.connections)
    if arguments.keep:
        arguments.keep.write_text(json.dumps(found) + "\n")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
