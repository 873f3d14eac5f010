"""The running server: streams, superseding, hanging up, a worker that dies."""

import json
import os
import signal
import subprocess
import threading
import time


def events(client, path, body, most=10**6):
    found = []
    with client.stream("POST", path, json=body) as answer:
        assert answer.status_code == 200
        for line in answer.iter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                if len(found) >= most:
                    break
    return found


def test_branches_stream_coarse_first_then_the_point_exactly_then_fine(explorer):
    with explorer.client("stream") as client:
        found = events(client, "/api/branches", {"task": {"alpha": 1.5}, "along": "alpha"}, most=58)
    points = [m for m in found if m["event"] == "point"]
    assert found[0]["event"] == "grid"
    assert [(p["value"], p["branch"], p["stage"]) for p in points[:2]] == [
        (1.5, "semantic", "coarse"),
        (1.5, "positional", "coarse"),
    ]
    assert [p["stage"] for p in points] == ["coarse"] * 52 + ["exact"] * 2 + ["fine"] * 2
    coarse, exact = (
        next(p for p in points if p["stage"] == stage)["numbers"]["train_loss"]
        for stage in ("coarse", "exact")
    )
    assert exact["error"] < coarse["error"]
    assert abs(exact["value"] - coarse["value"]) < 4 * (exact["error"] + coarse["error"])


def test_a_later_request_supersedes_an_earlier_one(explorer):
    ends = []

    def first():
        with explorer.client("one") as client:
            ends.append(events(client, "/api/diagram", {"task": {"sigma": 0.61}})[-1]["event"])

    thread = threading.Thread(target=first)
    thread.start()
    time.sleep(1)
    with explorer.client("one") as client:
        events(client, "/api/diagram", {"task": {"sigma": 0.62}}, most=2)
    thread.join(60)
    assert ends == ["superseded"]


def test_hanging_up_stops_a_training(explorer):
    with explorer.client("leaves") as client:
        events(client, "/api/train", {"d": 1000, "optimiser": "gd", "seeds": 24}, most=6)
    began = time.monotonic()
    with explorer.client("stays") as client:
        found = events(client, "/api/train", {"d": 60, "optimiser": "lbfgs"})
    assert found[-1]["event"] == "done"
    assert time.monotonic() - began < 60


def workers_of(server):
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(server.process.pid)],
        capture_output=True,
        text=True,
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "spawn_main" in line]


def test_the_server_survives_the_death_of_its_workers(explorer):
    """A solver and the trainer are killed: points are still solved, networks trained, and both are
    replaced."""
    before = workers_of(explorer)
    victims = {before[0], before[-1]}
    for worker in victims:
        os.kill(worker, signal.SIGKILL)
    with explorer.client("after") as client:
        assert client.get("/api/about").status_code == 200
        assert (
            events(client, "/api/branches", {"task": {"alpha": 1.77}}, most=3)[-1]["event"]
            == "point"
        )
        assert events(client, "/api/train", {"d": 60, "optimiser": "lbfgs"})[-1]["event"] == "done"
    for _ in range(600):
        if len(workers_of(explorer)) == len(before) and not victims & set(workers_of(explorer)):
            break
        time.sleep(0.1)
    assert len(workers_of(explorer)) == len(before)
    assert not victims & set(workers_of(explorer))


def test_answers_are_refused_in_one_line(explorer):
    with explorer.client("wrong") as client:
        for path in ("branches", "diagram", "train", "sentence"):
            answer = client.post(f"/api/{path}", json={"task": {"alpha": "much"}})
            assert answer.status_code == 422, path
            assert answer.json()["error"].startswith("task.alpha"), path
        assert (
            client.post(
                "/api/count", content=b"{", headers={"content-type": "application/json"}
            ).status_code
            == 422
        )
