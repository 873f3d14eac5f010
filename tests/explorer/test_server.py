"""The server as a process: it ends in one line, waits for nobody, and its workers stay small."""

import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import urlsplit

from dotphase.explorer.answers import work
from dotphase.explorer.server.rate_limits import LIMITS


def test_an_interrupt_ends_a_streaming_server_in_one_line(another_explorer):
    server = another_explorer
    heard = threading.Event()

    def listen():
        asked = {"d": 1000, "seeds": 24}
        with server.client() as client, client.stream("POST", "/api/train", json=asked) as answer:
            for _ in answer.iter_lines():
                heard.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert heard.wait(60)
    server.process.send_signal(signal.SIGINT)
    said = server.process.stderr.read()
    listener.join(20)
    assert server.process.wait(20) == 0
    assert said == "the explorer has ended\n"


def closed_after(explorer, text):
    """What comes back from a socket that sends `text` and no more, and the seconds until it is
    closed."""
    at = urlsplit(explorer.address)
    began = time.monotonic()
    with socket.create_connection((at.hostname, at.port), timeout=300) as connection:
        connection.sendall(text.encode())
        answer = b""
        while part := connection.recv(4096):
            answer += part
    return answer.decode(), time.monotonic() - began


def test_slow_sockets_are_closed(explorer):
    host = f"Host: {urlsplit(explorer.address).netloc}\r\n"
    whole = f"GET /api/about HTTP/1.1\r\n{host}\r\n"
    begun = f"POST /api/count HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n"
    answers = {"": "", "GET / HT": "", whole + "GET / HT": "200", begun: "408"}
    with ThreadPoolExecutor() as pool:  # all at once: each takes its time
        ends = dict(zip(answers, pool.map(partial(closed_after, explorer), answers), strict=True))
    for text, (said, seconds) in ends.items():
        assert answers[text] in said, text
        assert seconds > LIMITS.slow / 2, text


class Orders:
    """A pipe with the given orders, which must not be asked for more."""

    def __init__(self, *orders):
        self.orders, self.sent = list(orders), []

    def recv(self):
        return self.orders.pop(0)

    def poll(self):
        return False

    def send(self, message):
        self.sent.append(message)


def test_a_worker_that_has_grown_ends_after_its_order(monkeypatch):
    monkeypatch.setattr(work.signal, "signal", lambda *_: None)
    monkeypatch.setitem(work.WORKS, "nothing", lambda say: None)
    pipe = Orders(("nothing", {}), ("nothing", {}))
    monkeypatch.setattr(work, "ENOUGH", 0)
    work.serve(pipe, "nothing")
    assert len(pipe.orders) == 1
    assert pipe.sent == [("done", None)] * 2  # of the first work and of one order
    assert work._resident() > 2**24


def test_memory_is_not_known_on_windows(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError("/proc/self/statm")

    monkeypatch.setattr("builtins.open", missing)
    monkeypatch.setitem(sys.modules, "resource", None)  # importing it is an ImportError
    assert work._resident() == 0
