"""A contender for the tests of the comparison: right, or wrong in one way named by MODE."""

import asyncio
import gzip
import os
import pathlib
import signal
import socket
import sys
import time

MODE = os.environ.get("MODE", "right")
HOST = os.environ.get("BIND", os.environ["HOST"])
PORT = int(os.environ["PORT"])
# Where the test looks for process ids.
NOTES = os.environ.get("NOTES")
ANSWERED = 0
PARENT = os.getpid()


def note(line):
    if NOTES:
        with open(NOTES, "a") as notes:
            print(line, file=notes, flush=True)


def answer(path, body):
    """Status, media type and body for one request."""
    if MODE == "not-found":
        return 404, "text/plain", b"not found"
    if MODE == "fails-under-load" and ANSWERED > 20:
        return 502, "text/plain", b"bad gateway"
    if MODE == "unavailable-at-first" and ANSWERED < 8:
        return 503, "text/plain", b"not yet"
    if MODE == "constant-echo":
        return 200, "application/json", b'{"urlToEmbed":"https://example.com/"}'
    if path == "/echo":
        media_type = "text/plain" if MODE == "text-echo" else "application/json"
        return 200, media_type, body
    if path == "/picture":
        picture = bytearray(pathlib.Path(os.environ["PICTURE"]).read_bytes())
        if MODE == "wrong-byte":
            picture[len(picture) // 2] ^= 1
        return 200, "image/png", bytes(picture)
    return 200, "text/plain", b"Hello world!"


def packed(status, media_type, body):
    """The answer, compressed without having been asked to, in the mode that does so."""
    return status, media_type, gzip.compress(body, mtime=0) if MODE == "gzip" else body


def spin(seconds):
    """Uses so much CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def head(status, media_type, length):
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {length}"]
    if MODE == "gzip":
        lines.append("Content-Encoding: gzip")
    if MODE != "bare":
        lines += [f"Content-Type: {media_type}", "Date: Mon, 30 Nov 2026 12:00:00 GMT"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def serve(reader, writer):
    global ANSWERED
    try:
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in request.split(b"\r\n"):
                if os.environ.get("NOTE_HEADERS") and ANSWERED < 100 and b":" in line:
                    note(f"header {line.split(b':')[0].decode().lower()}")
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            body = await reader.readexactly(length)
            if os.environ.get("DELAY_MS"):
                await asyncio.sleep(int(os.environ["DELAY_MS"]) / 1000)
            spin(float(os.environ.get("SPIN_MS", 0)) / 1000)
            status, media_type, content = packed(*answer(request.split()[1].decode(), body))
            ANSWERED += 1
            for _ in range(int(os.environ.get("LINES", 0))):
                print("a line", flush=True)
            writer.write(head(status, media_type, len(content)) + content)
            await writer.drain()
            if MODE == "closes":
                break
            if MODE == "dies-under-load" and ANSWERED > 50:
                print("out of luck", file=sys.stderr, flush=True)
                os._exit(3)
            if ANSWERED == 50:
                note("answered 50")
            if os.environ.get("COUNT") and ANSWERED % 10 == 0:
                note(f"answered {ANSWERED}")
            if MODE == "killed-under-load" and ANSWERED == 50:
                os.kill(os.getpid(), signal.SIGKILL)
            if MODE == "stops-under-load" and ANSWERED == 50:
                os.kill(os.getpid(), signal.SIGSTOP)
            if MODE == "orphans" and ANSWERED == 50:
                os.kill(PARENT, signal.SIGKILL)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    if MODE == "late":
        await asyncio.sleep(0.4)
    family = socket.AF_INET6 if ":" in HOST else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((HOST, PORT))
    listener.listen(1024)
    server = await asyncio.start_server(serve, sock=listener)
    async with server:
        await server.serve_forever()


if MODE == "exits":
    print("no such module: fastest", file=sys.stderr)
    sys.exit(7)
if MODE == "cluster":
    # As many processes on the port as were asked for, as cluster modules have.
    for _ in range(1, int(os.environ["WORKERS"])):
        if not os.fork():
            break
if MODE == "orphans" and (worker := os.fork()):
    # A parent with a worker that serves in a session of its own, as cluster modules have.
    note(f"pid {worker}")
    while True:
        time.sleep(60)
elif MODE == "orphans":
    os.setsid()
if MODE == "leaks" and not os.fork():
    # A daemon as in the books: a session of its own, left by its parent, deaf to SIGTERM.
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(f"pid {os.getpid()}")
    time.sleep(600)
note(f"pid {os.getpid()}")
asyncio.run(main())
