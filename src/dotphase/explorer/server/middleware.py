"""Middleware: checks Host, Origin, type and size of every request, and adds security headers to
every answer.

A foreign page can point its own domain name to this machine (DNS rebinding) and then send requests
as if this were its server. Its Host header shows that domain name, so a Host must be an address,
`localhost`, or one of the given names. (Starlette's own check knows names only, and this machine
may have any address.)
"""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Any
from urllib.parse import urlsplit

from .rate_limits import LIMITS

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)  # plotly.js sets inline styles; scripts come only from our files
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Middleware:
    """ASGI middleware around the application `app`; `names`: further host names to accept."""

    def __init__(self, app: Any, names: tuple[str, ...] = ()) -> None:
        self.app, self.names = app, {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        try:
            async with asyncio.timeout(LIMITS.slow):
                body = await _body(receive) if scope["method"] == "POST" else b""
        except TimeoutError:
            await _refuse(send, 408, f"a request arrives within {LIMITS.slow:g} seconds")
            return
        if body is None:
            await _refuse(send, 413, f"a request has at most {LIMITS.body} bytes")
            return
        await self.app(scope, _replay(body, receive), _with_headers(send))

    def _refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self.knows(host):
            return 421, "this server answers to its address or to localhost only"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, "requests from other pages are not answered"
        if method not in ("GET", "HEAD", "POST"):
            return 405, "GET and POST only"
        if method == "POST" and not headers.get("content-type", "").lower().startswith(
            "application/json"
        ):
            return 415, "a request is application/json"
        return None

    def knows(self, host: str) -> bool:
        """Whether a Host header is an address, `localhost`, or one of `names`."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


async def _body(receive: Any) -> bytes | None:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > LIMITS.body:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return body


def _replay(body: bytes, receive: Any) -> Any:
    """Send the body that was read, then pass on later messages (a disconnection)."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Any:
        return waiting.pop() if waiting else await receive()

    return replayed


def _with_headers(send: Any) -> Any:
    own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *own]}
        await send(message)

    return sent


async def _refuse(send: Any, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode() + b"\n"})
