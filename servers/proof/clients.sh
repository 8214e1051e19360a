# Sourced by real-tools.sh: curl, load generators and pipelining against every scenario.

# ask [CURL ARGUMENT...]: curl, quietly, whatever the certificate.
ask() {
    curl --silent --show-error --insecure --max-time 30 "$@"
}

# status [CURL ARGUMENT...]: the status alone.
status() {
    ask --output /dev/null --write-out '%{http_code}' "$@"
}

curl_checks() {
    need curl curl || return
    curl_basics
    curl_posts
    curl_picture
    curl_uploads
}

curl_basics() {
    check "curl: hello" same "$(ask "$hello/")" 'Hello world!'
    check "curl: hello over TLS" same "$(ask "$https/")" 'Hello world!'
    check "curl: HTTP/1.0" same "$(ask --http1.0 "$hello/")" 'Hello world!'
    check "curl: an upgrade to HTTP/2 is not taken" \
        same "$(ask --http2 --write-out ' over %{http_version}' "$hello/")" 'Hello world! over 1.1'
    check "curl: HEAD" has "$(ask --head "$hello/" | tr -d '\r')" '^content-length: 12$'
    check "curl: 404" same "$(status "$hello/nothing")" 404
    check "curl: 405 says what is allowed" \
        has "$(ask --include --request DELETE "$hello/" | tr -d '\r')" '^allow: GET, HEAD$'
    check "curl: a connection is used again" \
        same "$(ask --output /dev/null --output /dev/null --write-out '%{num_connects} ' "$hello/" "$hello/")" '1 0 '
    check "curl: fibonacci" same "$(ask "$fib/fibonacci/31")" '{"n":31,"fibonacci":1346269}'
    check "curl: no fibonacci of nonsense" same "$(status "$fib/fibonacci/-1")" 400
}

curl_posts() {
    local body='{"urlToEmbed":"https://example.com/?a=\u00e9"}'
    check "curl: json" same "$(ask --data "$body" "$json/")" '{"urlToEmbed":"https://example.com/?a=é"}'
    check "curl: json, chunked" \
        same "$(ask --header 'Transfer-Encoding: chunked' --data "$body" "$json/")" '{"urlToEmbed":"https://example.com/?a=é"}'
    check "curl: json, with Expect" \
        same "$(ask --header 'Expect: 100-continue' --data "$body" "$json/")" '{"urlToEmbed":"https://example.com/?a=é"}'
    check "curl: unknown Expect" same "$(status --header 'Expect: miracles' --data "$body" "$json/")" 417
    check "curl: malformed json" same "$(status --data '{' "$json/")" 400
    ask --data "$body" --output "$scratch/qr.png" "$qr/qr"
    check "curl: a QR code of 512 x 512" \
        same "$(od -A n -t x1 -N 24 "$scratch/qr.png" | tr -d ' \n')" 89504e470d0a1a0a0000000d494844520000020000000200
    # Waits for a 100 before it sends, as curl does from a megabyte on.
    head -c 2000000 /dev/zero >"$scratch/large"
    check "curl: 413" same "$(status --data-binary "@$scratch/large" "$json/")" 413
}

curl_picture() {
    local tag
    ask --output "$scratch/logo.png" "$png/logo.png"
    check "curl: the picture" cmp "$scratch/logo.png" data/logo.png
    ask --range 100-199 --output "$scratch/part" "$png/logo.png"
    check "curl: a range" cmp "$scratch/part" <(tail -c +101 data/logo.png | head -c 100)
    ask --range -100 --output "$scratch/part" "$png/logo.png"
    check "curl: the last 100 bytes" cmp "$scratch/part" <(tail -c 100 data/logo.png)
    check "curl: a range past the end" same "$(status --range 99999- "$png/logo.png")" 416
    head -c 5000 data/logo.png >"$scratch/resumed"
    ask --continue-at - --output "$scratch/resumed" "$png/logo.png"
    check "curl: a download resumed" cmp "$scratch/resumed" data/logo.png
    tag=$(ask --head "$png/logo.png" | tr -d '\r' | sed -n 's/^etag: //p')
    check "curl: not modified" same "$(status --header "If-None-Match: $tag" "$png/logo.png")" 304
    check "curl: no way out of the folder" has "$(status --path-as-is "$png/../Cargo.toml")" '^40[04]$'
    check "curl: no way out, encoded" has "$(status --path-as-is "$png/%2e%2e%2fCargo.toml")" '^40[04]$'
}

curl_uploads() {
    local before after
    before=$(ask "$upload/stats")
    check "curl: upload" same "$(status --data-binary "@$scratch/large" "$upload/")" 204
    check "curl: upload, chunked" \
        same "$(status --header 'Transfer-Encoding: chunked' --data-binary "@$scratch/large" "$upload/")" 204
    check "curl: upload of standard input" same "$(status --request POST --upload-file - "$upload/" <"$scratch/large")" 204
    check "curl: upload of nothing" same "$(status --data '' "$upload/")" 204
    after=$(ask "$upload/stats")
    check "curl: uploads are counted" same "$before $after" '{"requests":0,"bytes":0} {"requests":4,"bytes":6000000}'
}

load_tool_checks() {
    local text='{"urlToEmbed":"https://example.com/"}'
    printf %s "$text" >"$scratch/body.json"
    if need h2load nghttp2-client; then
        check "h2load: hello" h2load_succeeds "$hello/"
        check "h2load: https" h2load_succeeds "$https/"
        check "h2load: png" h2load_succeeds "$png/logo.png"
        check "h2load: fib" h2load_succeeds "$fib/fibonacci/10"
        check "h2load: json" h2load_succeeds -d "$scratch/body.json" "$json/"
        check "h2load: qr" h2load_succeeds -d "$scratch/body.json" "$qr/qr"
        check "h2load: upload" h2load_succeeds -d "$scratch/large" "$upload/"
        check "h2load: pipelined" h2load_succeeds -m 16 "$hello/"
    fi
    if need ab apache2-utils; then
        check "ab: keep-alive" ab_succeeds -k "$hello/"
        check "ab: a connection for each request" ab_succeeds "$hello/"
        check "ab: keep-alive over TLS" ab_succeeds -k "$https/"
        check "ab: POST" ab_succeeds -k -p "$scratch/body.json" -T application/json "$json/"
    fi
    if need wrk wrk; then
        check "wrk: hello" wrk_succeeds "$hello/"
        check "wrk: https" wrk_succeeds "$https/"
        check "wrk: png" wrk_succeeds "$png/logo.png"
        cat >"$scratch/pipeline.lua" <<'LUA'
init = function(arguments)
    local requests = {}
    for index = 1, 16 do requests[index] = wrk.format() end
    pipeline = table.concat(requests)
end
request = function() return pipeline end
LUA
        check "wrk: pipelined, 16 deep" wrk_succeeds -s "$scratch/pipeline.lua" "$hello/"
        check "wrk: pipelined over TLS" wrk_succeeds -s "$scratch/pipeline.lua" "$https/"
        check "wrk: Connection: close" wrk_succeeds -H 'Connection: close' "$hello/"
    fi
}

h2load_succeeds() {
    has "$(timeout 60 h2load --h1 -n 2000 -c 10 "$@" 2>&1)" '2000 done, 2000 succeeded, 0 failed, 0 errored, 0 timeout'
}

ab_succeeds() {
    local report
    report=$(timeout 60 ab -q -n 2000 -c 10 "$@" 2>&1)
    has "$report" '^Complete requests: +2000$' && has "$report" '^Failed requests: +0$' &&
        ! grep -q 'Non-2xx' <<<"$report" &&
        if [ "$1" = -k ]; then has "$report" '^Keep-Alive requests: +2000$'; fi
}

wrk_succeeds() {
    local report
    report=$(timeout 60 wrk -t 1 -c 10 -d 1s "$@" 2>&1)
    has "$report" '[1-9][0-9]* requests in' && ! grep -E 'Socket errors|Non-2xx' <<<"$report"
}

oha_checks() {
    need oha cargo install oha || return
    check "oha: hello" oha_succeeds "$hello/"
    check "oha: https" oha_succeeds --insecure "$https/"
    check "oha: png" oha_succeeds "$png/logo.png"
    check "oha: json" oha_succeeds --insecure -m POST -d '{"urlToEmbed":"https://example.com/"}' "$json/"
    check "oha: a connection for each request" oha_succeeds --disable-keepalive "$hello/"
}

oha_succeeds() {
    has "$(timeout 60 oha --no-tui -n 2000 -c 10 "$@" 2>&1)" 'Success rate:[[:space:]]+100\.00'
}

pipelining_checks() {
    need python3 python3 || return
    check "pipelining: 100 answers in the order of their requests" python3 - "${fib##*:}" <<'PYTHON'
import re, socket, sys

# The numbers above 20 are computed on other threads, and must still come in their place.
numbers = [number % 26 for number in range(100)]
requests = "".join(f"GET /fibonacci/{number} HTTP/1.1\r\nHost: x\r\n\r\n" for number in numbers)
stream = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30)
stream.sendall(requests.encode())
answers = b""
while answers.count(b'"fibonacci":') < 100 or not answers.endswith(b"}"):
    received = stream.recv(65536)
    if not received:
        raise SystemExit("the server closed the connection")
    answers += received
got = [int(number) for number in re.findall(rb'"n":(\d+)', answers)]
if got != numbers:
    raise SystemExit(f"answers came for {got}")
PYTHON
}
