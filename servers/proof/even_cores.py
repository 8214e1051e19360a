#!/usr/bin/env python3
"""Connections spread over the workers evenly, from four connections a worker on.

    servers/proof/even_cores.py

Loads hello with 2 and with 4 workers, four connections for each, and compares the CPU time of the
threads: no worker may take more than 1.3 times another. The workers share one CPU and wrk has another:
a worker that had to share its CPU with wrk would get fewer requests from a closed loop, however evenly
the connections were spread. Needs wrk and two CPUs.
"""

import os
import shutil
import subprocess
import sys

import servers
from servers import Server

LIMIT = 1.3


def on(cpu):
    """What starts a program on one CPU."""
    return ["taskset", "-c", str(cpu)]


def spread(workers):
    """The CPU seconds of each worker under load, the busiest first."""
    server_cpu, wrk_cpu = sorted(os.sched_getaffinity(0))[:2]
    with Server("hello", "--workers", str(workers), prefix=on(server_cpu)) as server:
        command = [*on(wrk_cpu), "wrk", "-t1", f"-c{4 * workers}", "-d5s", server.url]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return server.thread_cpu_s()[:workers]


def main():
    if not shutil.which("wrk"):
        raise SystemExit("even_cores.py needs wrk (Debian: apt-get install wrk)")
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("even_cores.py needs two CPUs")
    servers.build("hello")
    even = True
    for workers in (2, 4):
        times = spread(workers)
        ratio = times[0] / times[-1]
        even &= ratio <= LIMIT
        seconds = ", ".join(f"{time:.2f}" for time in times)
        print(f"{'ok  ' if ratio <= LIMIT else 'FAIL'}  {workers} workers, {4 * workers} connections: "
              f"{seconds} s of CPU, ratio {ratio:.2f} (at most {LIMIT})")
    sys.exit(not even)


if __name__ == "__main__":
    main()
