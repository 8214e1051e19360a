#!/usr/bin/env python3
"""Counts the instructions a request takes in the servers, for docs/instructions.md.

    servers/proof/instructions.py            counts, and writes docs/instructions.md
    servers/proof/instructions.py --check    counts, and fails where the page says 3 % less

A release server with one worker runs under callgrind and answers one connection, first a few
requests, then, a fresh one, many: the difference is free of start, handshake and warm-up. Only user
instructions count, so the figures are the same on a busy machine. Needs valgrind.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import servers
from servers import Server

PAGE = servers.ROOT / "docs" / "instructions.md"
TOLERANCE = 0.03
FEW, MANY = 300, 1300
# A TLS handshake takes a million instructions more or less by chance: spread over more requests.
MANY_OVER_TLS = 10_300

# Row of the table -> scenario.
REQUESTS = {
    "hello": "hello",
    "https": "https",
    "json": "json",
    "png": "png",
    "qr": "qr",
    "fib(20)": "fib",
}
STEPS = {"qr: the code alone": "code", "qr: its PNG alone": "png"}

INTRODUCTION = """\
# Instructions per request

User instructions that a release server executes for one request: HTTP, TLS and the handler, not the
kernel. Counted by callgrind on one connection of one worker, as the difference of two runs, so a busy
machine does not change them; another compiler, dependency or kind of CPU (the C library and TLS pick
their code by it) may. A copy by a string instruction, as that of a picture, counts once a
byte. CI fails when one grows by more than {tolerance:.0%}. Made by `servers/proof/instructions.py`.

| what | instructions |
|---|---:|
"""


def callgrind(folder):
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--quiet"]


def collected(folder):
    """The instructions in callgrind's file."""
    return int(re.search(r"^(?:summary|totals): (\d+)", pathlib.Path(folder, "out").read_text(), re.M)[1])


def count_requests(scenario, requests):
    """The instructions of a server's whole life in which it answers `requests` requests."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(scenario, "--workers", "1", prefix=callgrind(folder))
        with server.connect() as stream:
            for number in range(requests):
                stream.sendall(servers.request(scenario, number))
                status, _ = servers.read_answer(stream)
                if status != 200:
                    raise SystemExit(f"{scenario} answered {status}")
        if server.stop(patience_s=60) != 0:
            raise SystemExit(f"{scenario} did not end with status 0")
        return collected(folder)


def count_step(step, times):
    """The instructions of a program that does one step of the qr scenario `times` times."""
    with tempfile.TemporaryDirectory() as folder:
        program = servers.RELEASE / "examples" / "steps"
        subprocess.run([*callgrind(folder), program, step, str(times)], check=True)
        return collected(folder)


def per_unit(count, many=MANY):
    return round((count(many) - count(FEW)) / (many - FEW))


def measure():
    table = {}
    for row, scenario in REQUESTS.items():
        many = MANY_OVER_TLS if scenario in ("https", "json") else MANY
        table[row] = per_unit(lambda times: count_requests(scenario, times), many)
        print(f"{row:20} {table[row]:>10,}", flush=True)
    for row, step in STEPS.items():
        table[row] = per_unit(lambda times: count_step(step, times))
        print(f"{row:20} {table[row]:>10,}", flush=True)
    return table


def write(table):
    rows = "".join(f"| {row} | {count:,} |\n" for row, count in table.items())
    PAGE.write_text(INTRODUCTION.format(tolerance=TOLERANCE) + rows)
    print(f"wrote {PAGE.relative_to(servers.ROOT)}")


def check(table):
    """Compares with the page. Returns the exit status."""
    committed = re.findall(r"^\| (.+?) \| ([\d,]+) \|$", PAGE.read_text(), re.M)
    committed = {row: int(count.replace(",", "")) for row, count in committed}
    if set(committed) != set(table):
        print(f"{PAGE.name} has other rows than this script; run it without --check")
        return 1
    failed = 0
    for row, before in committed.items():
        change = table[row] / before - 1
        if change > TOLERANCE:
            print(f"FAIL {row}: {table[row]:,} instructions, {change:+.1%} against {before:,}")
            failed = 1
        elif change < -TOLERANCE:
            print(f"note {row}: {change:+.1%}; write the page anew to keep the gain")
    return failed


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit("usage: instructions.py [--check]")
    if not shutil.which("valgrind"):
        raise SystemExit("instructions.py needs valgrind (Debian: apt-get install valgrind)")
    servers.build(*dict.fromkeys(REQUESTS.values()), examples=[("server-qr", "steps")])
    table = measure()
    sys.exit(check(table) if sys.argv[1:] else write(table))


if __name__ == "__main__":
    main()
