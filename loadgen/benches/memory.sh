#!/usr/bin/env bash
# Does memory stay what it was after the first second? One run of many requests against the null
# server, its resident memory read after a second and then every second.
#
#   loadgen/benches/memory.sh [REQUESTS [CONNECTIONS]]      (20,000,000 over 300 connections)
#
# Fails where the peak is over 1 MiB above what it was after the first second.
set -euo pipefail
cd "$(dirname "$0")/../.."
requests=${1:-20000000} connections=${2:-300}
server_cpu=${SERVER_CPU:-0} client_cpu=${CLIENT_CPU:-1}

cargo build --release --quiet -p loadgen --bins
canned=$(cargo bench --quiet -p loadgen --bench canned --no-run --message-format json |
  sed -n 's/.*"executable":"\([^"]*canned[^"]*\)".*/\1/p')
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
work=$(mktemp -d)
taskset -c "$server_cpu" "$canned" "$port" & server=$!
trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.05; done

taskset -c "$client_cpu" target/release/loadgen run -t 1 -c "$connections" -n "$requests" --format json \
  "http://127.0.0.1:$port/" >"$work/out" & run=$!
kib() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$run/status" 2>/dev/null; }
sleep 1
first=$(kib VmRSS)
while now=$(kib VmHWM) && [[ -n $now ]]; do peak=$now; sleep 1; done
wait "$run"
python3 - "$work/out" "$requests" "$first" "$peak" <<'EOF'
import json, sys
result = json.load(open(sys.argv[1]))
asked, first, peak = map(int, sys.argv[2:])
completed = result["requests"]["completed"]
samples = result["service_time_us"]["count"]
print(f"{completed:,} of {asked:,} requests completed, {samples:,} samples, {result['elapsed_s']:.0f} s")
print(f"resident after 1 s: {first / 1024:.1f} MiB; peak: {peak / 1024:.1f} MiB")
sys.exit(not (completed == samples == asked and peak <= first + 1024))
EOF
