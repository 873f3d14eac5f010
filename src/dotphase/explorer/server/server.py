"""Serve the page at one address, until interrupted."""

from __future__ import annotations

import ipaddress
import socket
import threading
import webbrowser
from collections.abc import Callable

from ...numerics.extras import require
from .worker_pool import Worker


def run(host: str, port: int, open_page: bool, solvers: int, tell: Callable[[str], None]) -> None:
    """Serve the explorer on `host`:`port` (0: any free port) until interrupted; `tell` prints the
    address."""
    require("the explorer needs", "explorer")
    listening = _listen(host, port)
    solver = Worker(
        "theory-0", "warm_theory"
    )  # it loads for seconds, while this process loads the web server
    import uvicorn

    from .app import make_app

    address = f"http://{_shown(host)}:{listening.getsockname()[1]}/"
    if not _is_loopback(host):
        tell(f"serving on {host}: everyone who reaches this machine can use it")
    tell(f"the explorer is at {address}  (Ctrl-C ends it)")
    if open_page:
        threading.Timer(0.8, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        make_app((host,), solvers, solver),
        log_level="warning",
        access_log=False,
        limit_concurrency=300,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=256)
    except OSError as error:
        raise ValueError(
            f"--host, --port: cannot serve on {host}:{port}: {error.strerror or error}"
        ) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1" if host == "0.0.0.0" else "[::1]"
    return f"[{host}]" if ":" in host else host
