"""One replica of the live service: loads for a while, tells its port, then serves calls by their tokens.

Run: `python _planner_replica.py LOAD_S FIXED_S TOKENS_PER_S`; it ends when its standard input does.
"""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Serves a call: the path is its number of tokens."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fixed_s = tokens_per_s = 0.0

    def do_GET(self) -> None:
        """Take as long as so many tokens take."""
        time.sleep(self.fixed_s + float(self.path[1:]) / self.tokens_per_s)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""


def main() -> None:
    """Serve until standard input ends."""
    load_s, Handler.fixed_s, Handler.tokens_per_s = (float(text) for text in sys.argv[1:])
    time.sleep(load_s)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
