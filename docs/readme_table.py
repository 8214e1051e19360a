#!/usr/bin/env python3
"""Writes the README's table from the result of a comparison:

    docs/readme_table.py results/DATE/result.json

Requests per second / CPU µs of the server per request, medians over trials, as the result has them.
"""

import json
import pathlib
import re
import sys

README = pathlib.Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- made by docs/readme_table.py -->\n", "<!-- end -->\n"
RUNTIMES = [("rust", "Rust"), ("node", "Node.js"), ("deno", "Deno"), ("bun", "Bun")]
FRAMEWORKS = [("node-fastify", "Fastify on Node.js"), ("bun-elysia", "Elysia on Bun")]
# Where a scenario has no native contender of a runtime, its only one stands in its column.
ONLY_WITH = {"fib": ("fib (Express)", "-express")}
# What limited a cell, where it was not the server.
MARKS = {"client-bound": "≥ ", "host-noisy": "~ ", "invalid": "invalid"}


def figure(value):
    """Three digits, thousands separated."""
    if value >= 100:
        digits = len(str(int(value)))
        return f"{round(value, min(0, 4 - digits)):,.0f}"
    return f"{value:.3g}"


def entry(cell):
    if cell is None:
        return ""
    mark = MARKS.get(cell["verdict"], "")
    if cell["rate_per_s"] is None:
        return mark or "not run"
    return f"{mark}{figure(cell['rate_per_s'])} / {figure(cell['cpu_us_per_request'])}"


def table(result):
    cells = {(cell["scenario"], cell["contender"]): cell for cell in result["cells"]}
    columns = RUNTIMES + FRAMEWORKS
    yield "| scenario | " + " | ".join(title for _, title in columns) + " |"
    yield "|---" + "|---:" * len(columns) + "|"
    for scenario in dict.fromkeys(cell["scenario"] for cell in result["cells"]):
        title, suffix = ONLY_WITH.get(scenario, (scenario, ""))
        names = [name if name == "rust" else name + suffix for name, _ in RUNTIMES]
        names += [name for name, _ in FRAMEWORKS]
        entries = [entry(cells.get((scenario, name))) for name in names]
        if sum(map(bool, entries)) > 1:
            yield f"| {title} | " + " | ".join(entries) + " |"


def summary(result):
    host, manifest = result["host"], result["manifest"]
    versions = {name: manifest["versions"].get(name, "?") for name, _ in RUNTIMES[1:]}
    connections = dict.fromkeys(
        f"{cell['scenario']} {cell['connections']}" for cell in result["cells"]
    )
    numbers = lambda text: re.search(r"\d+\.\d+\.\d+", text)
    version = lambda name: (numbers(versions[name]) or [versions[name]])[0]
    return (
        f"Medians of {manifest['trials_per_cell']} trials of {manifest['duration_s']:g} s; connections: "
        + ", ".join(connections)
        + f". {host['cpu_model']}, {host['cpus']} CPUs"
        + (f" ({host['virtualised']})" if host["virtualised"] else "")
        + f", Linux {host['kernel']}, {manifest['started_at'][:10]}; Node.js {version('node')}, "
        f"Deno {version('deno')}, Bun {version('bun')}. `≥`: the generator was the limit, so the "
        "server can do at least this. `~`: other processes took part of the CPUs."
    )


def main():
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    text = "\n".join(table(result)) + "\n\n" + summary(result) + "\n"
    readme = README.read_text()
    before, rest = readme.split(BEGIN)
    README.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


main()
