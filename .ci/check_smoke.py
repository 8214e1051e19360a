"""Fails unless the smoke run below the given folder measured every contender of every scenario."""

import json
import pathlib
import sys

SCENARIOS = {"hello", "https", "json", "png", "qr", "fib", "upload", "upload-1kb"}
RUNTIMES = {"node", "deno", "bun"}


def complaints(result):
    """What is missing or invalid, one line each."""
    cells = result["cells"]
    for scenario in sorted(SCENARIOS):
        names = {cell["contender"] for cell in cells if cell["scenario"] == scenario}
        if "rust" not in names:
            yield f"{scenario}: the Rust contender is missing"
        families = {name.split("-")[0] for name in names}
        for runtime in sorted(RUNTIMES - families):
            yield f"{scenario}: no contender on {runtime}"
    for cell in cells:
        place = f"{cell['scenario']}/{cell['contender']}"
        if cell["verdict"] == "invalid":
            yield f"{place}: invalid: {cell.get('reason')}"
        elif not cell["rate_per_s"]:
            yield f"{place}: nothing was measured"


def main(folder):
    files = sorted(pathlib.Path(folder).rglob("result.json"))
    if len(files) != 1:
        return [f"expected one result.json below {folder}, found {len(files)}"]
    found = list(complaints(json.loads(files[0].read_text())))
    if not found:
        print("smoke: every scenario and contender was measured")
    return found


if __name__ == "__main__":
    problems = main(sys.argv[1])
    print("\n".join(problems))
    sys.exit(1 if problems else 0)
