"""Serve the page at one address, until interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
import webbrowser
from collections.abc import Callable

from ...numerics.extras import require
from .rate_limits import LIMITS
from .worker_pool import Worker


def run(host: str, port: int, open_page: bool, solvers: int, tell: Callable[[str], None]) -> None:
    """Serve the explorer on `host`:`port` (0: any free port) until interrupted; `tell` prints the
    address."""
    require("the explorer needs", "explorer")
    listening = _listen(host, port)
    # It loads for seconds, while this process loads the web server.
    solver = Worker("theory-0", "warm_theory")
    import uvicorn

    from .app import make_app

    address = f"http://{_shown(host)}:{listening.getsockname()[1]}/"
    if not _is_loopback(host):
        tell(f"serving on {host}: everyone who reaches this machine can use it")
    tell(f"the explorer is at {address}  (Ctrl-C ends it)")
    if open_page:
        threading.Timer(0.8, webbrowser.open, [address]).start()
    app = make_app((host,), solvers, solver)
    config = uvicorn.Config(
        app,
        http=prompt_protocol(),
        log_level="warning",
        access_log=False,
        limit_concurrency=300,
        timeout_keep_alive=int(LIMITS.slow),
        timeout_graceful_shutdown=1,
        server_header=False,
    )

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.app.state.limits.end_all()  # streams end by themselves, before they are cut off
            await super().shutdown(sockets)

    with contextlib.suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listening])
    tell("the explorer has ended")


def prompt_protocol() -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol, which closes a connection that does not send a whole request's head
    in time: otherwise a few hundred silent sockets keep everyone else out."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Prompt(H11Protocol):
        waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()  # a request is here; from now on the time is ours
            elif self.waiting is None:
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self.waiting = self.loop.call_later(LIMITS.slow, self._close)

        def _stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
            self.waiting = None

        def _close(self) -> None:
            self.waiting = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Prompt


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
