#!/usr/bin/env bash
# Looks for input from outside that breaks the load generator, guided by coverage (libFuzzer).
#
#   loadgen/fuzz/run.sh [SECONDS [TARGET...]]    20 seconds for each of all targets by default
#
# Works with any toolchain and a C++ compiler (libfuzzer-sys builds libFuzzer with it; minutes the first
# time): the coverage counters are LLVM's, and no sanitizer is used, because the targets have no unsafe
# code of their own. Begins with the inputs in corpus/ and adds what it finds to found/; an input that
# breaks a target is kept in artifacts/ and ends this with status 1. Put it into corpus/ when it is
# mended: `cargo test` replays that folder. CI makes mutations without coverage instead, which need no
# build: see tests/corpus.rs.
set -euo pipefail
cd "$(dirname "$0")"

seconds=${1:-20}
shift || true
targets=("$@")
((${#targets[@]})) || targets=(response template suite result)

host=$(rustc -vV | sed -n 's/^host: //p')
counters="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
# The versions that the programs are built with.
cp ../../Cargo.lock .
# --target keeps the counters out of build scripts and macros.
RUSTFLAGS="--cfg fuzzing $counters" cargo build --release --quiet --target "$host" --bins

for target in "${targets[@]}"; do
    mkdir -p "found/$target" "artifacts/$target"
    seeds=("corpus/$target")
    [ "$target" = response ] && seeds+=(../tests/fixtures)
    options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="artifacts/$target/" -verbosity=0)
    [ -f "$target.dict" ] && options+=(-dict="$target.dict")
    # A dictionary that libFuzzer recommends at the end says nothing to people.
    log=found/$target.log
    if ! "target/$host/release/$target" "${options[@]}" "found/$target" "${seeds[@]}" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "$target: broken; its input is in loadgen/fuzz/artifacts/$target" >&2
        exit 1
    fi
    echo "$target: $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs in $seconds s"
done
echo "nothing found in ${#targets[@]} targets"
