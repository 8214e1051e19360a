# Sourced by the scripts beside it: release servers on free ports, checks that print a line each.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
release=${CARGO_TARGET_DIR:-$root/target}/release
scratch=$(mktemp -d)
passed=0 failed=0 skipped=0
pids=()

# build NAME...: builds servers, unless NO_BUILD says to use those that are there.
build() {
    [ -n "${NO_BUILD:-}" ] || cargo build --release --locked --quiet --bins "${@/#/--package=server-}"
}

# What a server is started by, if anything: `taskset -c 0`.
started_by=()

# start NAME [ARGUMENT...]: starts server-NAME. Sets `url`, `port` and `pid`.
start() {
    local name=$1 line
    shift
    : >"$scratch/$name.out"
    HOST=127.0.0.1 PORT=0 "${started_by[@]}" "$release/server-$name" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" &
    pid=$!
    pids+=("$pid")
    for _ in $(seq 100); do
        line=$(grep -m1 -o 'https\?://[0-9.]*:[0-9]*' "$scratch/$name.out" | head -1)
        if [ -n "$line" ]; then
            url=$line port=${line##*:}
            return
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    echo "server-$name did not start: $(cat "$scratch/$name.err")" >&2
    exit 1
}

# stop PID: asks a server to end, and waits for it. Fails when its exit status is not 0.
stop() {
    kill -TERM "$1" && wait "$1"
}

# Everything that was started ends with the script.
finish() {
    for each in "${pids[@]}"; do
        kill -KILL "$each" 2>/dev/null
    done
    wait 2>/dev/null
    rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM

# check WHAT COMMAND...: runs a command, at most a minute, and says whether it succeeded.
check() {
    local what=$1
    shift
    if "$@" >"$scratch/check.out" 2>&1; then
        passed=$((passed + 1))
        echo "ok    $what"
    else
        failed=$((failed + 1))
        echo "FAIL  $what"
        sed 's/^/        /' "$scratch/check.out" | tail -20
    fi
}

# need TOOL PACKAGE | need TOOL COMMAND...: whether a tool is there, which a Debian package or a command
# installs. A missing one is skipped and counted, or fails the run in CI.
need() {
    local how="apt-get install $2"
    [ $# -gt 2 ] && how="${*:2}"
    command -v "$1" >/dev/null && return
    if [ -n "${CI:-}" ]; then
        failed=$((failed + 1))
        echo "FAIL  $1 is missing ($how)"
        return 1
    fi
    skip "$1 is missing ($how)"
    return 1
}

# skip WHY: counts something that is not checked.
skip() {
    skipped=$((skipped + 1))
    echo "skip  $1"
}

# same ACTUAL EXPECTED: compares two texts, and shows both where they differ.
same() {
    [ "$1" = "$2" ] || { printf 'got:      %s\nexpected: %s\n' "$1" "$2"; return 1; }
}

# has TEXT PATTERN: whether a text has a line that matches an extended regular expression.
has() {
    grep -Eq -- "$2" <<<"$1" || { printf 'no %s in:\n%s\n' "$2" "$1"; return 1; }
}

# Prints the totals; the last command of a script.
totals() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
