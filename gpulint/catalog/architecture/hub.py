"""Hub: read config.json and the index of a checkpoint's weights over HTTP, for `size --online`
only.
"""

from __future__ import annotations

import http.client
import queue
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from email.message import Message
from typing import IO, TypeVar
from urllib.parse import quote, urlsplit

from gpulint.catalog import architecture
from gpulint.catalog.architecture import index, network
from gpulint.catalog.architecture.config import Unread
from gpulint.catalog.architecture.model import Resolution
from gpulint.version import __version__

HUB = "https://huggingface.co"
ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
"""An id with its owner, as hubs accept it (huggingface_hub v1.9.2 utils/_validators.py,
validate_repo_id).
"""
CONFIG = "config.json"
CONFIG_BYTES_MAX = 5_000_000
ANSWER_S = 15.0
PATIENCE_S = 120.0
ANSWERS_BYTES_MAX = 512_000_000
"""What one run accepts from a hub in all."""
REDIRECTS_MAX = 5
BLOCK = 1_000_000
AT_A_TIME = 8
REFUSED = {
    401: "it has no such checkpoint, or it requires a token",
    403: "access is denied",
    429: "too many requests were sent",
}
ABSENT = frozenset({404, 410})
Q = TypeVar("Q")
A = TypeVar("A")


class HubError(Exception):
    """Why a hub did not answer, as a sentence."""


class Hub:
    """A server with the layout of huggingface.co: `<owner>/<name>/resolve/<revision>/<file>`."""

    def __init__(self, address: str = HUB, token: str | None = None, patience_s: float = PATIENCE_S) -> None:
        self.address = address.rstrip("/")
        if urlsplit(self.address).scheme not in ("http", "https") or not urlsplit(self.address).hostname:
            raise HubError(f"{address} is not the address of a hub; write http(s)://HOST")
        self.token = token
        self.patience_s = patience_s
        self.deadline = time.monotonic() + patience_s
        self.received_bytes = 0
        self.opener = _build_opener()

    def head(self, reference: str, file: str, length: int) -> bytes | None:
        """Return the first bytes of a checkpoint's file, up to a length;

        None if the hub has no such file.
        """
        request = urllib.request.Request(f"{self.address}/{quote(reference)}/resolve/main/{quote(file)}")  # noqa: S310
        request.add_header("User-Agent", f"gpulint/{__version__}")
        request.add_header("Range", f"bytes=0-{length - 1}")
        if self.token:
            request.add_unredirected_header("Authorization", f"Bearer {self.token}")
        try:
            with self.opener.open(request, timeout=self._find_time_left()) as answer:
                return self._read(answer.read1, length)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in ABSENT:
                return None
            raise HubError(self._explain_refusal(reference, file, error.code)) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
            raise HubError(f"{self.address} did not answer for {reference}/{file}: {_explain_error(error)}") from None

    def abandon(self) -> None:
        """Let every request that still runs end with its next block."""
        self.deadline = 0.0

    def explain_lateness(self) -> str:
        """Return what is said of a hub that is too slow as a whole."""
        return f"{self.address} took longer than {self.patience_s:g} s"

    def _find_time_left(self) -> float:
        """Return how long to wait for the next part of an answer; raise HubError if no time is left."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise HubError(self.explain_lateness())
        return min(ANSWER_S, left)

    def _read(self, read: Callable[[int], bytes], length: int) -> bytes:
        """Read up to a length, as it arrives.

        A server that ignores the range, is too slow or sends too much in all is abandoned.
        """
        content = bytearray()
        while len(content) < length and (block := read(min(BLOCK, length - len(content)))):
            content += block
            self._find_time_left()
            self.received_bytes += len(block)
            if self.received_bytes > ANSWERS_BYTES_MAX:
                raise HubError(f"{self.address} sent more than {ANSWERS_BYTES_MAX // 1_000_000} MB")
        return bytes(content)

    def _explain_refusal(self, reference: str, file: str, code: int) -> str:
        why = REFUSED.get(code, "no reason given")
        hint = " (--token sends HF_TOKEN)" if code in (401, 403) and not self.token else ""
        return f"{self.address} answered {code} for {reference}/{file}: {why}{hint}"


def resolve(reference: str, hub: Hub) -> Resolution:
    """Return the architecture of a hub's checkpoint with the weights of its files."""
    if not ID.fullmatch(reference):
        raise HubError(f"{reference} is not the id of a checkpoint on a hub; write ORG/NAME")
    try:
        (resolved,) = _ask_all(lambda asked: _resolve(asked, hub), [reference], hub)
    finally:
        hub.abandon()
    return resolved


def _resolve(reference: str, hub: Hub) -> Resolution:
    content = hub.head(reference, CONFIG, CONFIG_BYTES_MAX)
    if content is None:
        raise HubError(f"{hub.address} has no {reference} with a config.json")
    config = content.decode("utf-8", "replace")
    resolved = _read_shape(reference, config, hub)
    return index.apply_files(
        resolved,
        config,
        lambda file, length: hub.head(reference, file, length),
        lambda ask, files: _ask_all(ask, files, hub),
    )


def _ask_all(ask: Callable[[Q], A], questions: Sequence[Q], hub: Hub) -> list[A]:
    """Return the answers, several of them at a time; raise HubError at the hub's deadline.

    Whatever holds a request up (names, headers, redirects, bodies) holds up only its own thread.
    Such a thread does not keep the process from ending.
    """
    todo: queue.SimpleQueue[tuple[int, Q]] = queue.SimpleQueue()
    answers: queue.SimpleQueue[tuple[int, A | Exception]] = queue.SimpleQueue()
    for numbered in enumerate(questions):
        todo.put(numbered)
    for _ in range(min(AT_A_TIME, len(questions))):
        threading.Thread(target=_answer, args=(ask, todo, answers), daemon=True).start()
    found: dict[int, A] = {}
    while len(found) < len(questions):
        try:
            number, answer = answers.get(timeout=max(0.0, hub.deadline - time.monotonic()))
        except queue.Empty:
            raise HubError(hub.explain_lateness()) from None
        if isinstance(answer, Exception):
            raise answer
        found[number] = answer
    return [found[number] for number in range(len(questions))]


def _answer(
    ask: Callable[[Q], A],
    todo: queue.SimpleQueue[tuple[int, Q]],
    answers: queue.SimpleQueue[tuple[int, A | Exception]],
) -> None:
    """Answer questions until none is left, or one cannot be answered."""
    while True:
        try:
            number, question = todo.get_nowait()
        except queue.Empty:
            return
        try:
            answers.put((number, ask(question)))
        except Exception as error:  # raised again where the answers are read
            answers.put((number, error))
            return


def _read_shape(reference: str, config: str, hub: Hub) -> Resolution:
    """Return the architecture of config.json; for unsupported families, that of the catalog or the
    name.
    """
    try:
        shape = network.read(reference, config).architecture
    except Unread as reason:
        fallback = architecture.resolve(reference)
        if fallback.architecture is None:
            raise HubError(f"config.json of {reference} gives no architecture: {reason}") from None
        return fallback
    return Resolution(shape, f"config.json of {urlsplit(hub.address).hostname}")


def _explain_error(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"no answer in {ANSWER_S:g} s"
    if isinstance(reason, socket.gaierror):
        return "its host name cannot be resolved; is this machine online?"
    return (getattr(reason, "strerror", None) or str(reason) or type(reason).__name__).lower()


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow a hub to its file servers, never from https to http. The token stays with the hub."""

    max_redirections = REDIRECTS_MAX

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in {"https", urlsplit(req.full_url).scheme}:
            raise HubError(f"{req.host} redirects to {urlsplit(newurl).hostname} without encryption")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]
        token = req.get_header("Authorization")
        if request is not None and token and urlsplit(newurl)[:2] == urlsplit(req.full_url)[:2]:
            request.add_unredirected_header("Authorization", token)
        return request


def _build_opener() -> urllib.request.OpenerDirector:
    """Return an opener for HTTP and HTTPS through the system's proxy, without other protocols."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener
