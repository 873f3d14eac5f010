"""Who is let in, at which rate, and what every answer says."""

import asyncio

import httpx
import pytest

from dotphase.explorer.server.app import make_app
from dotphase.explorer.server.middleware import Middleware
from dotphase.explorer.server.rate_limits import LIMITS, Limits, RateLimits, TooMany


def ask(method, path, **options):
    """One request to an application whose workers were never started: none of these may reach them."""

    async def asked():
        transport = httpx.ASGITransport(make_app())
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765"
        ) as client:
            return await client.request(method, path, **options)

    return asyncio.run(asked())


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "192.168.1.7"])
def test_addresses_and_localhost_are_known(host):
    assert Middleware(None).knows(host)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[", "0x7f.1"]
)
def test_other_names_are_not(host):
    assert not Middleware(None).knows(host)
    assert ask("GET", "/", headers={"host": host or " "}).status_code == 421


def test_a_name_we_were_told_is_known():
    assert Middleware(None, ("lab.example",)).knows("LAB.example:80")


def test_other_pages_and_other_kinds_of_request_are_refused():
    body = {"text": "a"}
    assert (
        ask("POST", "/api/count", json=body, headers={"origin": "http://evil.example"}).status_code
        == 403
    )
    assert ask("POST", "/api/count", json=body, headers={"origin": "null"}).status_code == 403
    assert ask("POST", "/api/count", data={"text": "a"}).status_code == 415
    assert (
        ask("OPTIONS", "/api/count", headers={"access-control-request-method": "POST"}).status_code
        == 405
    )
    large = b'{"text": "' + b"a" * LIMITS.body + b'"}'
    assert (
        ask(
            "POST", "/api/count", content=large, headers={"content-type": "application/json"}
        ).status_code
        == 413
    )


def test_every_answer_carries_the_policy():
    for path in ("/", "/api/about", "/nowhere"):
        headers = ask("GET", path).headers
        assert "script-src 'self';" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_the_page_has_no_script_of_its_own():
    page = ask("GET", "/").text
    assert "<script>" not in page
    assert "onclick" not in page
    assert "https://cdn" not in page


@pytest.mark.parametrize(
    "path",
    ["/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2fapp.py", "/data/../app.py", "/docs"],
)
def test_nothing_but_the_page_is_served(path):
    assert ask("GET", path).status_code == 404


def test_bad_input_is_one_line_that_names_the_field():
    answer = ask("POST", "/api/sentence", json={"task": {"alpha": -1}})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("task.alpha:")


def test_a_client_that_asks_too_fast_is_told_so():
    limits = RateLimits(Limits(rate=1, burst=3))
    for _ in range(3):
        limits.admit("fast")
    with pytest.raises(TooMany):
        limits.admit("fast")
    limits.admit("slow")


def test_too_fast_is_429_with_a_message():
    async def hasty():
        transport = httpx.ASGITransport(make_app())
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8765"
        ) as client:
            return [await client.post("/api/export", json={}) for _ in range(200)]

    answers = asyncio.run(hasty())
    assert answers[0].status_code == 200
    refused = [answer for answer in answers if answer.status_code != 200]
    assert refused
    assert all(
        answer.status_code == 429 and "slow down" in answer.json()["error"] for answer in refused
    )
    assert refused[0].headers["retry-after"] == "1"


def test_a_later_job_supersedes_an_earlier_one_and_jobs_are_bounded():
    limits = RateLimits(Limits(jobs=2))
    with limits.job("a", "branches") as first:
        assert not first.is_set()
        with limits.job("a", "branches") as second:
            assert first.is_set()
            assert not second.is_set()
            with limits.job("b", "branches"):
                limits.check("a", "branches")  # would supersede
                with pytest.raises(TooMany):
                    limits.check("c", "branches")
    limits.check("c", "branches")


def test_clients_are_forgotten_at_last():
    limits = RateLimits()
    for k in range(3000):
        limits.admit(str(k))
    assert len(limits._saved) <= 1000
