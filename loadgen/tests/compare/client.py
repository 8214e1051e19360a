"""An upload client for the tests of the comparison: right, or wrong in one way named by MODE."""

import collections
import http.client
import json
import os
import sys
import time

MODE = os.environ.get("MODE", "right")
CONTENT = open(os.environ["UPLOAD_FILE"], "rb").read()
CONNECTION = http.client.HTTPConnection(os.environ["HOST"], int(os.environ["PORT"]))

if MODE == "wrong-byte":
    CONTENT = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
# The file of a check is never this one.
IN_THE_WINDOW = os.environ["UPLOAD_FILE"].endswith("/1095.bin")


def upload():
    kind = "text/html" if MODE == "wrong-type" else "text/plain"
    CONNECTION.request("POST", "/", CONTENT, {"Content-Type": kind})
    response = CONNECTION.getresponse()
    response.read()
    assert response.status == 204, response.status


upload()
if MODE == "dies" and IN_THE_WINDOW:
    sys.exit("out of luck")
print("window opened", flush=True)
opened = time.monotonic()
times = collections.Counter()
while True:
    began = time.monotonic()
    upload()
    now = time.monotonic()
    times[round((now - began) * 1e6)] += 1
    if now - opened >= float(os.environ["UPLOAD_SECONDS"]):
        break
uploads = times.total()
if MODE == "boasts" and IN_THE_WINDOW:
    uploads += 1
    times[100] += 1
result = {
    "uploads": uploads,
    "failed": 0,
    "failure": None,
    "bytes": uploads * len(CONTENT),
    "elapsed_s": now - opened,
    "warmup_uploads": 1,
    "latency_us_counts": list(times.items()),
}
print(json.dumps(result), flush=True)
sys.stdin.read()
