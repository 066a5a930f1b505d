"""Serves the files of a folder by HTTP on the loopback address, well or with a fault.

Usage: faulty_server.py FOLDER. It prints its port, and ends when its input ends. The first part of
a path names the behaviour: http://127.0.0.1:PORT/cut/mnist/x.gz sends FOLDER/mnist/x.gz as `cut`
does. /log answers with the requests so far, one line each: the path, and the first byte that was
asked for.
"""
import http.server
import sys
import threading
import time
from pathlib import Path

CUT = 1000  # bytes that a faulty answer sends before it ends
PAGE = b"<html>Please accept the terms of this network.</html>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/log":
            return self.answer(200, "".join(self.server.requests).encode())
        _, behaviour, name = self.path.split("/", 2)
        start = int(self.headers.get("Range", "bytes=0-")[6:].rstrip("-"))
        self.server.requests.append(f"{self.path} {start}\n")
        file = self.server.folder / name
        if behaviour == "moved":
            return self.answer(302, PAGE, Location=f"/whole/{name}")
        if behaviour == "circle":
            return self.answer(302, PAGE, Location=self.path)
        if behaviour == "page":
            return self.answer(200, PAGE)
        if behaviour == "absent" or not file.is_file():
            return self.answer(404, b"")
        return self.send(behaviour, file.read_bytes(), start)

    def send(self, behaviour, content, start):
        if behaviour == "wrong":
            content = bytes(255 - byte for byte in content)
        if behaviour.startswith("deaf"):  # it does not know ranges
            start = 0
        if start >= len(content) > 0:
            return self.answer(416, b"")
        body = content[start:]
        length = len(body) + {"long": 10, "short": -10}.get(behaviour, 0)
        self.head(206 if start else 200, length,
                  **({"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start
                     else {}))
        if behaviour in ("cut", "deaf-cut", "stuck"):
            body = b"" if behaviour == "stuck" and start else body[:CUT]
        for piece in range(0, len(body), CUT):
            self.wfile.write(body[piece:piece + CUT])
            self.wfile.flush()
            if behaviour == "slow":
                time.sleep(0.05)
        if behaviour == "stuck":
            time.sleep(20)
        self.close_connection = True
        return None

    def head(self, code, length, **headers):
        self.send_response(code)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self, code, body, **headers):
        self.head(code, len(body), **headers)
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.requests = Path(folder), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):  # a client that hangs up is part of the tests
        pass

    def close(self):
        self.shutdown()
        self.server_close()

    def address(self, behaviour):
        return f"http://127.0.0.1:{self.server_address[1]}/{behaviour}"


if __name__ == "__main__":
    server = Server(sys.argv[1])
    print(server.server_address[1], flush=True)
    sys.stdin.read()
