#!/usr/bin/env bash
# Real tools get right answers from the release servers, and attackers do not slow others down.
#
#   servers/proof/real-tools.sh [quick|full]
#
# quick (the default, about a minute): curl, h2load, ab, wrk, pipelining, openssl.
# full: also oha, testssl.sh, sslyze and slowhttptest.
# A tool that is missing is skipped and counted, in CI it fails. Debian: apache2-utils curl nghttp2-client
# openssl python3 wrk, and for full slowhttptest testssl.sh; `cargo install oha`; `pip install sslyze`.
set -uo pipefail
cd "$(dirname "$0")/../.."
. servers/proof/lib.sh

mode=${1:-quick}
case $mode in
quick | full) ;;
*) echo "usage: real-tools.sh [quick|full], not '$mode'" >&2; exit 2 ;;
esac

build hello https json png qr fib upload || exit 1

start hello && hello=$url hello_pid=$pid
start https && https=$url https_port=$port
start json && json=$url
start png && png=$url
start qr && qr=$url
start fib && fib=$url
start upload && upload=$url

. servers/proof/clients.sh
. servers/proof/tls.sh

curl_checks
load_tool_checks
pipelining_checks
openssl_checks
if [ "$mode" = full ]; then
    oha_checks
    scanner_checks
    . servers/proof/slow.sh
    slow_checks
fi
totals
