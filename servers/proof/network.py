#!/usr/bin/env python3
"""loadgen over a network that is not loopback: delay, loss, and too few local ports.

    servers/proof/network.py

Two network namespaces, joined by a relay of this script's own (two TUN devices), which holds every
packet for a time and drops some: so it needs root and /dev/net/tun, but no netem in the kernel. Where
namespaces cannot be made, it says why and exits with 0. What the server counted is the truth.
"""

import contextlib
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time

import servers
from checks import Checks
from servers import RELEASE, Server

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
# Addresses for tests of networks (RFC 2544), in namespaces that nothing else can reach.
SERVER, GENERATOR = "198.18.0.1", "198.18.0.2"
DELAY_S = 0.010  # each way
LOSS = 0.02  # each way
BODY = "x" * 1000


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Network:
    """Two namespaces and the relay between them."""

    def __init__(self, delay_s=0.0, loss=0.0):
        self.delay_s, self.loss = delay_s, loss
        self.names = [f"loadgen-{os.getpid()}-{side}" for side in ("server", "generator")]
        self.stopped = threading.Event()

    def __enter__(self):
        with contextlib.ExitStack() as made:
            self.ends = []
            for side, (name, own, other) in enumerate(
                zip(self.names, (SERVER, GENERATOR), (GENERATOR, SERVER))
            ):
                ip("netns", "add", name)
                made.callback(ip, "netns", "del", name)
                end, device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK), f"lg{side}{os.getpid()}"
                made.callback(os.close, end)
                fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
                ip("link", "set", device, "netns", name)
                ip("-n", name, "addr", "add", own, "peer", other, "dev", device)
                ip("-n", name, "link", "set", device, "txqueuelen", "10000", "up")
                self.ends.append(end)
            self.relay = threading.Thread(target=self.carry)
            self.relay.start()
            made.callback(self.relay.join)
            made.callback(self.stopped.set)
            self.made = made.pop_all()
        return self

    def __exit__(self, *_):
        self.made.close()

    def carry(self):
        """Hands packets from one end to the other, late, until told to stop."""
        held, number, dice = [], 0, random.Random(1)
        while not self.stopped.is_set():
            wait = held[0][0] - time.monotonic() if held else 0.05
            ready, _, _ = select.select(self.ends, [], [], min(max(wait, 0), 0.05))
            for end in ready:
                other = self.ends[1 - self.ends.index(end)]
                with contextlib.suppress(BlockingIOError):
                    while True:
                        packet = os.read(end, 65536)
                        if dice.random() >= self.loss:
                            heapq.heappush(held, (time.monotonic() + self.delay_s, number, other, packet))
                            number += 1
            while held and held[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(held)
                with contextlib.suppress(OSError):
                    os.write(end, packet)

    def inside(self, side):
        """What runs a command in the namespace of a side."""
        return ["ip", "netns", "exec", self.names[side]]

    def load(self, url, *arguments):
        """The result of a run."""
        command = [*self.inside(1), RELEASE / "loadgen", "run", "--format", "json", "-b", BODY, *arguments, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 1):
            raise SystemExit(f"loadgen ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def counted(self, url):
        """What the server counted: requests and bytes."""
        script = f"import urllib.request as u; print(u.urlopen('{url}/stats').read().decode())"
        text = subprocess.run([*self.inside(1), sys.executable, "-c", script], capture_output=True, text=True, check=True)
        stats = json.loads(text.stdout)
        return stats["requests"], stats["bytes"]


def sums(requests):
    ends = ("completed", "failed", "timed_out", "in_flight_at_end")
    return requests["sent"] == sum(requests[end] for end in ends)


def delay(checks):
    with Network(delay_s=DELAY_S) as network, server(network) as upload:
        result = network.load(upload.url, "-n", "500", "-c", "10")
        times, floor_us = result["service_time_us"], 2 * DELAY_S * 1e6
        checks.check("delay: no response came before the network could bring it",
                     times["min"] >= floor_us * 0.999, f"{times['min']:.0f} of at least {floor_us:.0f} µs")
        checks.check("delay: the median is near the floor", times["p50"] < floor_us * 1.5, f"{times['p50']:.0f} µs")
        checks.check("delay: connecting takes one round trip",
                     result["connect_time_us"]["min"] >= floor_us * 0.999, f"{result['connect_time_us']['min']:.0f} µs")
        exact(checks, "delay", result, network.counted(upload.url))


def loss(checks):
    with Network(delay_s=DELAY_S / 10, loss=LOSS) as network, server(network) as upload:
        result = network.load(upload.url, "-n", "2000", "-c", "20", "--connect-timeout", "30s")
        times = result["service_time_us"]
        # A lost packet is sent again after 200 ms at the earliest (TCP_RTO_MIN), or by a tail loss probe.
        checks.check("loss: lost packets are latency", times["max"] > 5 * times["p50"],
                     f"p50 {times['p50']:.0f} µs, max {times['max']:.0f} µs")
        exact(checks, "loss", result, network.counted(upload.url))


def exact(checks, name, result, counted):
    requests = result["requests"]
    checks.check(f"{name}: nothing failed", not result["errors"], result["errors"])
    checks.check(f"{name}: the server counted what was completed",
                 counted == (requests["completed"], requests["completed"] * len(BODY)) and sums(requests),
                 f"{requests['completed']} completed, {counted[0]} requests and {counted[1]} bytes counted")


def ports(checks):
    with Network() as network, server(network) as upload:
        few = ["sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 40009"]
        subprocess.run([*network.inside(1), *few], check=True)
        result = network.load(upload.url, "-c", "30", "-d", "2s")
        failure = result["errors"].get("no_free_port", {"count": 0, "example": ""})
        checks.check("ports: too few local ports are named", "no free local port" in failure["example"],
                     f"{failure['count']} times: {failure['example']}")
        checks.check("ports: the other connections are measured", result["requests"]["completed"] > 100,
                     f"{result['requests']['completed']} completed on {result['connects']['peak_open']} connections")
        checks.check("ports: no other kind of error", set(result["errors"]) == {"no_free_port"}, list(result["errors"]))
        subprocess.run([*network.inside(1), *few[:2], "net.ipv4.ip_local_port_range=32768 60999"], check=True)
        requests, counted = result["requests"], network.counted(upload.url)[0]
        checks.check("ports: counts are right",
                     sums(requests) and requests["completed"] <= counted <= requests["sent"],
                     f"{requests['sent']} sent, {counted} counted, {requests['completed']} completed")


def server(network):
    return Server("upload", "--workers", "1", prefix=network.inside(0), env={"HOST": SERVER})


def main():
    try:
        with Network():
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        detail = (getattr(error, "stderr", None) or "").strip()
        print(f"skipped: no network of its own can be made here: {error} {detail}")
        return
    servers.build("upload")
    servers.build_loadgen()
    checks = Checks()
    for part in (delay, loss, ports):
        part(checks)
    sys.exit(not checks.passed)


if __name__ == "__main__":
    main()
