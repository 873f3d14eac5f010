"""The explorer under fingers: `python -m benchmarks.explorer start|weight|drags|load|fuzz|axe …`.

- `start`: seconds from the command to the first page, and to the first solved point.
- `weight`: bytes of the page, and when it can be used.
- `drags`: a hundred drags in a real browser; milliseconds from a move to the first new point of a
  branch on the screen.
- `load`: fifty clients that drag for a minute: latencies, refusals, and the memory of all
  processes.
- `fuzz`: ten thousand requests, from reasonable to mad: how they were answered.
- `axe`: findings of axe-core (`npm install axe-core` in the folder that AXE names) in all states of
  the page.

Each starts a server of its own. Numbers go to the standard output as JSON, and into the table of
docs/results.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from .stored import RESULTS, keep_table

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


FRAME = """(() => {
  const plot = document.getElementById('diagram-plot'), { xaxis, yaxis } = plot._fullLayout;
  const box = plot.getBoundingClientRect();
  return [box.left + xaxis._offset, box.top + yaxis._offset, xaxis._length, yaxis._length];
})()"""  # of the diagram, on the screen


DRAWN = """(() => {
  const plot = document.getElementById('branches-plot');
  window.drawn = new Promise((done) => {
    const observer = new MutationObserver(() => { observer.disconnect(); done(plot.dataset.first); });
    observer.observe(plot, { attributeFilter: ['data-drawn'] });
  });
  return null;
})()"""  # asked for once, not again and again: asking takes time that the page wants


@contextmanager
def server():
    """An explorer on any free port: its address, and its process."""
    command = [sys.executable, "-m", "dotphase", "explore", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://[^/]+", process.stderr.readline())
        yield found[0], process
    finally:
        process.terminate()
        process.wait(20)


def until_warm(address: str) -> None:
    """Until every worker process has loaded."""
    import httpx

    while not httpx.get(f"{address}/api/about").json()["warm"]:
        time.sleep(0.05)


def start() -> dict:
    import httpx

    began = time.perf_counter()
    with server() as (address, _):
        while True:
            try:
                assert httpx.get(address).status_code == 200
                break
            except httpx.ConnectError:
                time.sleep(0.02)
        page = time.perf_counter() - began
        with httpx.stream("POST", f"{address}/api/branches", json={}, timeout=120) as answer:
            next(line for line in answer.iter_lines() if '"point"' in line)
        return {
            "first_page_seconds": round(page, 2),
            "first_point_seconds": round(time.perf_counter() - began, 2),
        }


@contextmanager
def browser_page(address: str):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = chromium.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        page.goto(f"{address}/#alpha=2")  # a link to the laboratory, below the story
        _wait(page, "document.documentElement.dataset.ready")
        yield page
        chromium.close()


def _wait(page, expression: str) -> None:
    """Until it holds; Playwright's own way evaluates strings in the page, which its policy forbids."""
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        if time.monotonic() > end:
            raise TimeoutError(expression)
        page.wait_for_timeout(20)


def weight() -> dict:
    with server() as (address, _):
        until_warm(address)
        ready, controls = [], []
        for _ in range(5):
            with browser_page(address) as page:
                ready.append(float(page.evaluate("document.documentElement.dataset.ready")))
                controls.append(float(page.evaluate("document.documentElement.dataset.controls")))
                sizes = page.evaluate(
                    "performance.getEntriesByType('resource').map(r => [r.name, r.transferSize])"
                )
        files = {name.removeprefix(address): size for name, size in sizes}
        largest, total = max(files, key=files.get), sum(files.values())
        told = {
            "page_ready_ms": _told(ready),
            "controls_ready_ms": _told(controls),
            "total_bytes": total,
        }
        return {**told, "largest": largest, "largest_share": files[largest] / total}


def drags(count: int = 100) -> dict:
    """Each drag goes to another ω, so that all of the branch is new."""
    rng = random.Random(0)
    with server() as (address, process):
        until_warm(address)
        with browser_page(address) as page:
            page.wait_for_timeout(5000)
            spent = {
                "server": _seconds(process.pid),
                "page": _seconds(os.getpid()) - _seconds(process.pid),
            }
            frame = page.evaluate(FRAME)
            waits = []
            ring = page.locator("#handle").bounding_box()
            page.mouse.move(ring["x"] + 15, ring["y"] + 15)
            page.mouse.down()
            for _ in range(count):
                left, top, width, height = frame
                page.evaluate(DRAWN)
                page.mouse.move(
                    left + width * rng.uniform(0.05, 0.95), top + height * rng.uniform(0.05, 0.95)
                )
                waits.append(float(page.evaluate("window.drawn")))
                page.wait_for_timeout(150)
            page.mouse.up()
            spent["page"] = _seconds(os.getpid()) - _seconds(process.pid) - spent["page"]
            spent["server"] = _seconds(process.pid) - spent["server"]
            each = {name: round(1e3 * seconds / count) for name, seconds in spent.items()}
            return {
                "drags": count,
                "first_point_on_screen_ms": _told(waits),
                "processor_ms_per_drag": each,
            }


def load(clients: int = 50, seconds: float = 60.0) -> dict:
    with server() as (address, process):
        until_warm(address)
        memory = [_memory(process.pid)]
        waits, statuses = asyncio.run(
            _drag_together(address, clients, seconds, process.pid, memory)
        )
        medians = [statistics.median(own) for own in waits if own]
        return {
            "clients": clients,
            "seconds": seconds,
            "answers": sum(map(len, waits)),
            "statuses": statuses,
            "median_of_clients_medians_ms": round(1e3 * statistics.median(medians)),
            "memory_mb": memory,
        }


async def _drag_together(address, clients, seconds, pid, memory):
    import httpx

    statuses: dict[str, int] = {}
    end = time.monotonic() + seconds

    async def one(k: int) -> list[float]:
        rng, own = random.Random(k), []
        async with httpx.AsyncClient(
            base_url=address, timeout=60, headers={"client": f"client-{k}"}
        ) as client:
            while time.monotonic() < end:
                task = {
                    "alpha": round(rng.uniform(0.1, 3), 2),
                    "omega": round(rng.uniform(0, 0.5) * 200) / 200,
                }
                began = time.monotonic()
                status = await _first_point(client, task)
                statuses[status] = statuses.get(status, 0) + 1
                if status == "200":
                    own.append(time.monotonic() - began)
                await asyncio.sleep(0.1 if status == "200" else 0.5)
        return own

    async def watch() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(seconds / 6)
            memory.append(_memory(pid))

    *waits, _ = await asyncio.gather(*(one(k) for k in range(clients)), watch())
    return waits, statuses


async def _first_point(client, task) -> str:
    async with client.stream("POST", "/api/branches", json={"task": task}) as answer:
        if answer.status_code != 200:
            return str(answer.status_code)
        async for line in answer.aiter_lines():
            if '"point"' in line:
                return "200"
            if '"failed"' in line:
                return "failed"
    return "ended"


def fuzz(count: int = 10_000) -> dict:
    """Random bodies, paths, headers and methods, sixteen at a time; a request has twenty seconds."""
    with server() as (address, _):
        until_warm(address)
        answered = asyncio.run(_fuzz(address, count))
        import httpx

        alive = httpx.get(f"{address}/api/about").status_code
        return {"requests": count, "answers": dict(sorted(answered.items())), "alive": alive}


async def _fuzz(address: str, count: int) -> dict[str, int]:
    import httpx

    rng, answered = random.Random(1), {}
    waiting = asyncio.Semaphore(16)
    async with httpx.AsyncClient(
        base_url=address, timeout=20, limits=httpx.Limits(max_connections=16)
    ) as client:

        async def one(request) -> None:
            async with waiting:
                try:
                    async with client.stream(**request) as answer:
                        async for _ in answer.aiter_bytes():
                            break  # hang up after the first piece: streams must not mind
                        key = str(answer.status_code)
                except httpx.TimeoutException:
                    key = "hang"
                except httpx.HTTPError as error:
                    key = type(error).__name__
                answered[key] = answered.get(key, 0) + 1

        await asyncio.gather(*(one(_request(rng)) for _ in range(count)))
    return answered


def _request(rng: random.Random) -> dict:
    paths = [
        "branches",
        "diagram",
        "train",
        "sentence",
        "count",
        "export",
        "about",
        "nothing",
        "../../etc/passwd",
    ]
    request = {
        "method": rng.choice(["POST"] * 8 + ["GET", "PUT", "DELETE"]),
        "url": f"/api/{rng.choice(paths)}",
    }
    headers = {
        "client": rng.choice(["a", "b", f"c{rng.randrange(100)}", "x" * rng.randrange(80), "%00"])
    }
    if rng.random() < 0.7:
        request["json"] = _body(rng)
    else:
        request["content"] = bytes(
            rng.randrange(256)
            for _ in range(rng.choice([0, 3, 40, 20_000 if rng.random() < 0.1 else 9]))
        )
        headers["content-type"] = rng.choice(
            ["application/json", "application/json", "text/plain", "multipart/form-data"]
        )
    return request | {"headers": headers}


def _body(rng: random.Random):
    numbers = [
        0,
        -1,
        0.3,
        1.5,
        2,
        1e308,
        -1e-308,
        2**63,
        "1",
        None,
        True,
        [],
        {},
        "x" * 300,
        [[0.6, 0.4], [0.4, 0.6]],
    ]
    task = {
        name: rng.choice([rng.uniform(0.1, 1), rng.choice(numbers)])
        for name in rng.sample(
            ["alpha", "omega", "sigma", "lambda", "student", "positional", "zzz"], rng.randrange(5)
        )
    }
    if rng.random() < 0.4:
        task = {"alpha": round(rng.uniform(0.1, 3), 1)}
    names = [
        "along",
        "minimum",
        "d",
        "start",
        "optimiser",
        "seed",
        "seeds",
        "landscape",
        "text",
        "__proto__",
    ]
    words = [
        "alpha",
        "semantic",
        "random",
        "gd",
        "lowest",
        "reached",
        "é字\u0000",
        50,
        60,
        1,
        *numbers,
    ]
    body = {name: rng.choice(words) for name in rng.sample(names, rng.randrange(3))}
    return rng.choice(
        [body | {"task": task}] * 6
        + [{"text": "".join(chr(rng.randrange(1, 0xD7FF)) for _ in range(rng.randrange(30)))}] * 2
        + [task, rng.choice(numbers)]
    )


def _memory(pid: int) -> int:
    """Resident megabytes of a process and its children."""
    listed = subprocess.run(
        ["ps", "-o", "rss=", "--pid", str(pid), "--ppid", str(pid)], capture_output=True, text=True
    )
    return sum(map(int, listed.stdout.split())) // 1024


def _seconds(pid: int) -> float:
    """Processor time of a process and all that it has started, as far as they still live."""
    ticks, parents = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)] = int(fields[1])
        ticks[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
    family, found = {pid}, True
    while found:
        found = {child for child, parent in parents.items() if parent in family} - family
        family |= found
    return sum(ticks.get(member, 0) for member in family) / os.sysconf("SC_CLK_TCK")


def _told(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 1),
        "p90": round(ordered[int(0.9 * (len(ordered) - 1))], 1),
        "least": round(ordered[0], 1),
    }


STATES = {
    "light": ("#theme=light&landscape=positional", {}),
    "dark": ("#theme=dark&view=counting", {}),
    "phone": (
        "",
        {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    ),
}


def axe() -> dict:
    from playwright.sync_api import sync_playwright

    script = Path(os.environ["AXE"]) / "node_modules" / "axe-core" / "axe.min.js"
    found: dict[str, int] = {}
    with server() as (address, _), sync_playwright() as driver:
        until_warm(address)
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, (fragment, options) in STATES.items():
            page = chromium.new_context(bypass_csp=True, **options).new_page()
            page.goto(f"{address}/{fragment}")
            _wait(page, "document.documentElement.dataset.ready")
            page.wait_for_timeout(4000)
            page.add_script_tag(path=script)
            for opened in ("", "#tour-open", "#export-open"):
                if opened:
                    page.click(opened)
                    page.wait_for_timeout(300)
                for rule in page.evaluate("axe.run().then(r => r.violations)"):
                    found[rule["impact"]] = found.get(rule["impact"], 0) + len(rule["nodes"])
                    places = [node["target"] for node in rule["nodes"][:4]]
                    print(name, opened, rule["impact"], rule["id"], places, file=sys.stderr)
                if opened == "#tour-open":
                    page.click("#tour-close")
        chromium.close()
    return {"states": 3 * len(STATES), "findings": found}


def rows(name: str, found: dict) -> list[list[str]]:
    """What was measured, the number, and what was asked for."""
    spread = lambda told: (
        f"{told['median']:.0f} ms (least {told['least']:.0f}, nine tenths below {told['p90']:.0f})"
    )
    if name == "start":
        page, point = found["first_page_seconds"], found["first_point_seconds"]
        return [
            ["the command to the first page", f"{page} s", ""],
            ["to the first point", f"{point} s", "6 s"],
        ]
    if name == "weight":
        size = f"{found['total_bytes'] / 1e6:.1f} MB, {100 * found['largest_share']:.0f} % of it {found['largest']}"
        return [
            ["controls ready, 5 visits", spread(found["controls_ready_ms"]), ""],
            ["page ready, 5 visits", spread(found["page_ready_ms"]), "1500 ms"],
            ["bytes of the page", size, ""],
        ]
    if name == "drags":
        first = f"drag to the first point on the screen, {found['drags']} drags"
        return [[first, spread(found["first_point_on_screen_ms"]), "150 ms"]]
    if name == "load":
        statuses = ", ".join(
            f"{count} × {status}" for status, count in sorted(found["statuses"].items())
        )
        who = f"{found['clients']} clients dragging for {found['seconds']:.0f} s"
        memory = f"{found['memory_mb'][1]} → {found['memory_mb'][-1]} MB"
        latency = f"{found['median_of_clients_medians_ms']} ms"
        return [[f"{who}: answers", statuses, "no error but 429"], [f"{who}: median client's wait", latency, "stated"],
                [f"{who}: memory of all processes", memory, "flat"]]  # fmt: skip
    if name == "fuzz":
        told = ", ".join(f"{count} × {status}" for status, count in found["answers"].items())
        return [[f"{found['requests']} fuzzed requests", told, "no 500, no hang"]]
    serious = sum(found["findings"].get(impact, 0) for impact in ("serious", "critical"))
    others = sum(found["findings"].values()) - serious
    return [
        [
            "axe-core: serious or critical findings",
            f"{serious} (others {others}) in {found['states']} states",
            "0",
        ]
    ]


def keep(new: list[list[str]]) -> None:
    """Put rows into the table, in place of what they said before."""
    kept = RESULTS / "explorer.json"
    old = (
        json.loads(kept.read_text(encoding="utf-8"))["tables"]["measured"]["rows"]
        if kept.exists()
        else []
    )
    table = {row[0]: row for row in [*old, *new]}
    command = "python -m benchmarks.explorer start weight drags load fuzz axe"
    keep_table(
        "explorer", "measured", ["", "measured", "asked"], list(table.values()), command=command
    )


if __name__ == "__main__":
    for name in sys.argv[1:] or ["start", "weight", "drags"]:
        name, _, count = name.partition("=")  # drags=30 for a busy machine
        chosen = {
            "start": start,
            "weight": weight,
            "drags": drags,
            "load": load,
            "fuzz": fuzz,
            "axe": axe,
        }[name]
        result = chosen(int(count)) if count else chosen()
        busy = (
            Path("/proc/loadavg").read_text().split()[0]
            if os.path.exists("/proc/loadavg")
            else None
        )
        print(
            json.dumps({"benchmark": f"explorer {name}", **result, "load_average": busy}),
            flush=True,
        )
        if not count:
            keep(rows(name, result))
