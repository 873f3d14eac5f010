"""The web application: the page, and the requests it can send.

Answers that take a while are streams of server-sent events, `data: {…}` and an empty line each, in
the body of the answer to a POST. Closing the connection cancels a job; a new request of the same
client replaces the earlier one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from fastapi import FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles

from ... import __version__
from ..answers.export import texts
from ..answers.shipped import DATA
from ..answers.task import (
    RANGES,
    STUDENTS,
    Branches,
    Diagram,
    Export,
    Letters,
    Sentence,
    Training,
    bounds,
)
from ..site import PAGE, plotly_script
from .jobs import COARSE, FIRST, branches, diagram, recalled, through_pool
from .middleware import Middleware
from .rate_limits import LIMITS, RateLimits, TooMany
from .worker_pool import Busy, Worker, WorkerPool, WorkFailed

Client = Header("anyone", max_length=64, pattern=r"^[A-Za-z0-9-]*$")


def make_app(
    names: tuple[str, ...] = (), solvers: int = 2, early: Worker | None = None
) -> Middleware:
    """The application. `names`: host names it accepts besides its address; `solvers`: number of
    solver processes, of which one may have been started `early`."""
    theory = WorkerPool(
        "theory", solvers, waiting=400, seconds=120, patience=120, first="warm_theory"
    )
    trainers = WorkerPool(
        "training", 1, waiting=4, seconds=300, patience=3, first="warm_training", courtesy=5
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        theory.start(early)
        asyncio.get_running_loop().create_task(_after(theory, trainers))
        yield
        await asyncio.gather(theory.stop(), trainers.stop())

    app = FastAPI(
        title="dotphase explorer",
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
    )
    app.state.theory, app.state.training, app.state.limits = theory, trainers, RateLimits()
    _add_failures(app)
    _add_answers(app, theory, trainers, app.state.limits)
    _add_streams(app, theory, trainers, app.state.limits)
    _add_page(app)
    return Middleware(app, names)


async def _after(first: WorkerPool, then: WorkerPool) -> None:
    """Start the second pool when the first is ready, so that the first answer arrives sooner."""
    await first.ready.wait()
    then.start()


def _add_page(app: FastAPI) -> None:
    library = plotly_script()

    @app.get("/")
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})

    @app.get("/plotly.js")
    async def plots() -> FileResponse:
        return FileResponse(
            library, media_type="text/javascript", headers={"cache-control": "max-age=86400"}
        )

    app.mount("/data", StaticFiles(directory=DATA))
    app.mount("/page", StaticFiles(directory=PAGE))


def _add_failures(app: FastAPI) -> None:
    def refuse(status: int) -> Callable[..., Any]:
        async def handler(request: Request, error: Exception) -> JSONResponse:
            return JSONResponse({"error": str(error)}, status, {"retry-after": "1"})

        return handler

    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        errors = [
            f"{'.'.join(map(str, entry['loc'][1:]))}: {entry['msg']}"
            for entry in error.errors()[:3]
        ]
        return JSONResponse({"error": "; ".join(errors)}, 422)

    app.add_exception_handler(TooMany, refuse(429))
    app.add_exception_handler(Busy, refuse(429))
    app.add_exception_handler(WorkFailed, refuse(503))
    app.add_exception_handler(RequestValidationError, invalid)  # type: ignore[arg-type]


def _add_answers(
    app: FastAPI, theory: WorkerPool, trainers: WorkerPool, limits: RateLimits
) -> None:
    @app.get("/api/about")
    async def about() -> dict[str, Any]:
        return {
            "version": __version__,
            "ready": theory.ready.is_set(),
            "warm": theory.warm and trainers.warm,
            "students": {name: words for name, (words, _) in STUDENTS.items()},
            "ranges": RANGES,
            "bounds": bounds(),
        }

    @app.post("/api/sentence")
    async def sentence(asked: Sentence, client: str = Client) -> Any:
        limits.admit(client)
        given = asked.model_dump(by_alias=True)
        return await recalled(theory, "sentence", COARSE, **given)

    @app.post("/api/count")
    async def count(asked: Letters, client: str = Client) -> Any:
        limits.admit(client)
        return await recalled(theory, "count", FIRST, text=asked.text)

    @app.post("/api/export")
    async def export(asked: Export, client: str = Client) -> dict[str, str]:
        limits.admit(client)
        return texts(asked)


def _add_streams(
    app: FastAPI, theory: WorkerPool, trainers: WorkerPool, limits: RateLimits
) -> None:
    def stream(client: str, job: str, messages: AsyncGenerator[Any, None]) -> StreamingResponse:
        """Check the limits before the answer begins, so that a refusal has its own status code."""
        limits.admit(client)
        limits.check(client, job)
        return StreamingResponse(
            _events(messages, limits, client, job), media_type="text/event-stream"
        )

    @app.post("/api/branches")
    async def along(asked: Branches, client: str = Client) -> StreamingResponse:
        if theory.length > theory.waiting // 4:
            raise Busy("too many points wait to be solved: please try again in a moment")
        return stream(client, "branches", branches(theory, asked))

    @app.post("/api/diagram")
    async def plane(asked: Diagram, client: str = Client) -> StreamingResponse:
        return stream(client, "diagram", diagram(theory, asked))

    @app.post("/api/train")
    async def train(asked: Training, client: str = Client) -> StreamingResponse:
        if trainers.length >= trainers.waiting:
            raise Busy("other networks wait to be trained: please try again in a moment")
        return stream(
            client, "train", through_pool(trainers, "training", **asked.model_dump(by_alias=True))
        )


async def _events(
    messages: AsyncGenerator[Any, None], limits: RateLimits, client: str, job: str
) -> AsyncIterator[str]:
    """Messages as events, until they end, fail, or are superseded."""
    event = lambda message: f"data: {json.dumps(message, separators=(',', ':'))}\n\n"
    with limits.job(client, job) as superseded:
        over = asyncio.create_task(superseded.wait())
        upcoming: asyncio.Future | None = None
        try:
            while True:
                upcoming = upcoming or asyncio.ensure_future(anext(messages, None))  # type: ignore[arg-type]
                done, _ = await asyncio.wait(
                    {upcoming, over}, timeout=LIMITS.silence, return_when=asyncio.FIRST_COMPLETED
                )
                if over in done:
                    yield event({"event": "superseded"})
                    return
                if not done:
                    yield ": still at work\n\n"
                    continue
                message, upcoming = upcoming.result(), None
                if message is None:
                    yield event({"event": "done"})
                    return
                yield event(message)
        except (Busy, WorkFailed) as error:
            yield event({"event": "failed", "reason": str(error)})
        finally:
            over.cancel()
            # In a separate task: a closed connection has cancelled this one, which therefore cannot wait
            # for anything.
            closing = asyncio.create_task(_close(messages, upcoming))
            _closing.add(closing)
            closing.add_done_callback(_closing.discard)


_closing: set[asyncio.Task] = set()  # the event loop keeps no reference


async def _close(messages: Any, upcoming: asyncio.Future | None) -> None:
    if upcoming is not None:
        upcoming.cancel()
        await asyncio.gather(upcoming, return_exceptions=True)
    await messages.aclose()
