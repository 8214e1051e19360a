#!/usr/bin/env python3
"""Whether the Rust servers are the ceiling: their CPU per request beside the best runtime's.

    servers/proof/ceiling.py                     measures (about ten minutes), writes docs/ceiling.md
    servers/proof/ceiling.py --scenario hello    these scenarios only (commas), prints the table
    servers/proof/ceiling.py --result FILE       the table of a result.json measured before

`loadgen compare` does the measuring, with the built-in suite and two changes: the floor server, which
only counts blank lines (servers/hello/examples/floor.rs), is one more contender of hello, and uploads
are of 100 MB. Exits with 1 when a requirement is not met.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import servers

PAGE = servers.ROOT / "docs" / "ceiling.md"
UPLOAD_BYTES = 100_450_390
CONNECTIONS = {"upload": 2}  # 50 everywhere else

# Scenario, what is compared, with what, at most, aim.
REQUIREMENTS = [
    ("hello", "floor", 1.15, 1.10),
    ("hello", "best", 0.92, None),
    ("https", "best", 0.95, 0.88),
    ("json", "best", 0.85, 0.75),
    ("png", "best", 0.55, 0.45),
    ("qr", "µs", 60, None),
    ("fib", "best", 0.75, None),
    ("upload", "µs per MB", 150, None),
]

INTRODUCTION = """\
# The ceiling

What a verified request costs each server in CPU time, all threads, on one pinned core, at 50
connections (upload: 100 MB each, at 2). Medians over trials of fresh processes, interleaved in random
order, with 95 % intervals. `best` is the runtime that costs the least, whatever its framework; `floor`
is an epoll loop that counts blank lines and sends fixed bytes. Made by `servers/proof/ceiling.py`.

"""


def suite():
    """The built-in suite with the floor in it, and a profile for this table."""
    scenario, lines, adapted = None, [], set()
    for line in (servers.ROOT / "loadgen" / "suite.toml").read_text().splitlines():
        name = re.match(r'name = "(.+)"', line)
        scenario = name[1] if name else scenario
        if line.startswith("connections = {"):
            connections = CONNECTIONS.get(scenario, 50)
            line = line.replace("{", f"{{ ceiling = [{connections}],", 1)
            adapted.add(scenario)
        elif scenario == "upload" and line.startswith("upload_bytes = "):
            line = f"upload_bytes = {UPLOAD_BYTES}"
            adapted.add("bytes")
        lines.append(line)
    if not adapted.issuperset({"hello", "upload", "bytes"}):
        raise SystemExit("loadgen/suite.toml is not as this script expects it")
    floor = servers.RELEASE / "examples" / "floor"
    return "\n".join(lines) + f"""

[profiles.ceiling]
trials = 5
warmup = "600ms"
duration = "1s"

[[contender]]
name = "floor"
scenarios = ["hello"]
command = [{json.dumps(str(floor))}]
"""


def measure(scenarios):
    """Runs the comparison, and returns its result."""
    servers.build(examples=[("server-hello", "floor")])
    if not os.environ.get("NO_BUILD"):
        servers.build_loadgen()
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "suite.toml")
        config.write_text(suite())
        out = servers.ROOT / "results" / time.strftime("ceiling-%Y-%m-%dT%H-%M-%S")
        command = [servers.RELEASE / "loadgen", "compare", "--config", config, "--profile", "ceiling",
                   "--out", out]
        if scenarios:
            command += ["--scenario", scenarios]
        compared = subprocess.run(command, cwd=servers.ROOT)
        result = out / "result.json"
        if not result.exists():
            raise SystemExit(f"loadgen compare ended with {compared.returncode} and no result")
        return json.loads(result.read_text())


def costs(result):
    """The cells that count, by scenario and contender."""
    table = {}
    for cell in result["cells"]:
        if cell["verdict"] == "invalid" or not cell["cpu_us_per_request"]:
            continue
        table.setdefault(cell["scenario"], {})[cell["contender"]] = cell
    return table


def cost(cell):
    return cell["cpu_us_per_request"]


def shown(cell, name=None):
    """A cost with its interval."""
    if not cell:
        return ""
    interval = cell.get("cpu_us_per_request_interval")
    figures = figure(cost(cell))
    if interval:
        figures += f" ({figure(interval['low'])} to {figure(interval['high'])})"
    if cell["verdict"] == "host-noisy":
        figures += ", noisy host"
    return f"{name} {figures}" if name else figures


def figure(microseconds):
    return f"{microseconds:,.0f}" if microseconds >= 100 else f"{microseconds:.2f}"


def judge(cells, against):
    """The figure that a requirement limits, or None where it was not measured."""
    rust = cells.get("rust")
    if not rust:
        return None
    if against == "µs":
        return cost(rust)
    if against == "µs per MB":
        return cost(rust) / (UPLOAD_BYTES / 1e6)
    other = cells.get("floor") if against == "floor" else best(cells)[1]
    return cost(rust) / cost(other) if other else None


def best(cells):
    """The name and cell of the runtime that costs least."""
    runtimes = [(name, cell) for name, cell in cells.items() if name not in ("rust", "floor")]
    return min(runtimes, key=lambda each: cost(each[1]), default=(None, None))


def tables(result, wanted):
    """The tables as Markdown, and whether every requirement is met; of all scenarios, or those wanted."""
    measured = costs(result)
    lines = ["| scenario | rust, µs | best runtime, µs | floor, µs |", "|---|---:|---:|---:|"]
    for scenario, cells in measured.items():
        name, cell = best(cells)
        lines.append(f"| {scenario} | {shown(cells.get('rust'))} | {shown(cell, name)} | {shown(cells.get('floor'))} |")
    lines += ["", "| scenario | rust against | figure | must reach | verdict |", "|---|---|---:|---:|---|"]
    met = True
    for scenario, against, limit, aim in REQUIREMENTS:
        value = judge(measured.get(scenario, {}), against)
        if value is None:
            if wanted is None or scenario in wanted:
                met = False
                lines.append(f"| {scenario} | {against} | | {limit} | **not measured** |")
            continue
        met &= value <= limit
        verdict = "reached" if value <= limit else "**missed**"
        if aim and value <= aim:
            verdict = f"reached, and the aim of {aim}"
        lines.append(f"| {scenario} | {against} | {figure(value)} | {limit} | {verdict} |")
    return "\n".join(lines) + "\n", met


def tls(result):
    """What TLS every contender spoke as Markdown, and whether all spoke the same."""
    spoken = {}
    for trial in result["trials"]:
        if trial["load"] and trial["load"]["tls"]:
            version, cipher, _alpn = trial["load"]["tls"].split(" ", 2)
            spoken.setdefault(f"{version}, {cipher}", set()).add((trial["scenario"], trial["contender"]))
    if not spoken:
        return "", True
    lines = ["", "| TLS | scenario | contenders |", "|---|---|---|"]
    for what, who in sorted(spoken.items()):
        for scenario in sorted({scenario for scenario, _ in who}):
            contenders = sorted(contender for each, contender in who if each == scenario)
            lines.append(f"| {what} | {scenario} | {', '.join(contenders)} |")
    same = len(spoken) == 1
    lines += ["", "Each contender chose this version and cipher." if same else "**They spoke different TLS.**"]
    return "\n".join(lines) + "\n", same


def machine(result):
    host, manifest = result["host"], result["manifest"]
    return (f"\n{host['cpu_model']}, {host['cpus']} CPUs, {host['os']}, Linux {host['kernel']}; "
            f"measured {manifest['started_at'][:10]}.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", help="these only, separated by commas; writes no page")
    parser.add_argument("--result", type=pathlib.Path, help="a result.json; measures nothing, writes the page")
    arguments = parser.parse_args()
    result = json.loads(arguments.result.read_text()) if arguments.result else measure(arguments.scenario)
    wanted = arguments.scenario.split(",") if arguments.scenario else None
    text, met = tables(result, wanted)
    spoken, same = tls(result)
    print(text + spoken)
    if not arguments.scenario:
        PAGE.write_text(INTRODUCTION + text + spoken + machine(result))
    sys.exit(not (met and same))


if __name__ == "__main__":
    main()
