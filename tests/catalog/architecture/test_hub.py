"""`size --online`: a hub on this machine is asked for config.json and headers; nothing else of the program goes on line."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from weight_files import FP8, FP8_BYTES, INDEX_FILES, QUANTISED, TINY, TINY_PARAMETERS, WHOLE, header

import gpulint
from gpulint import cli
from gpulint.catalog.architecture import hub as architecture_hub

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=acme/tiny]
      resources: {limits: {nvidia.com/gpu: 1}}
"""


class Asked(NamedTuple):
    """One request as the hub saw it."""

    path: str
    range: str
    token: str


class Local(ThreadingHTTPServer):
    """A hub on this machine: files by path, answers by path, and what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.codes: dict[str, int] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[Asked] = []
        self.ranges = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def hold(self, reference: str, config: object, files: Mapping[str, bytes]) -> None:
        for name, content in {"config.json": json.dumps(config).encode(), **files}.items():
            self.files[f"/{reference}/resolve/main/{name}"] = content


class Answer(BaseHTTPRequestHandler):
    server: Local

    def do_GET(self) -> None:
        hub = self.server
        hub.asked.append(Asked(self.path, self.headers.get("Range", ""), self.headers.get("Authorization", "")))
        if target := hub.moved.get(self.path):
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        content = hub.files.get(self.path)
        code = hub.codes.get(self.path, 404 if content is None else 200)
        body = content or b""
        if code == 200 and hub.ranges and (wanted := re.fullmatch(r"bytes=0-(\d+)", self.headers.get("Range", ""))):
            code, body = 206, body[: int(wanted[1]) + 1]
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def hub() -> Iterator[Local]:
    with Local() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _in_an_empty_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def size(hub: Local | str, *words: str) -> Result:
    address = hub if isinstance(hub, str) else hub.address
    return CliRunner().invoke(cli.main, ["size", "--online", "--hub", address, "--accelerator", "l4", *words])


def test_a_checkpoint_that_no_catalog_lists_is_sized_by_what_the_hub_holds(hub: Local) -> None:
    hub.hold("acme/tiny", FP8, {"model.safetensors": header(QUANTISED) + b"\0" * 100_000})
    (table,) = json.loads(size(hub, "acme/tiny", "--format", "json").stdout)
    weights = table["terms"]["weight_bytes_per_gpu"]
    assert {weights[scenario] for scenario in ("best", "expected", "worst")} == {FP8_BYTES}
    assert (
        table["stored"]
        == "F8_E4M3 36 KiB, BF16 26.44 KiB (header of model.safetensors); 26.1% of the parameters are not quantised"
    )


def test_config_index_and_headers_are_asked_for_and_nothing_more(hub: Local) -> None:
    hub.hold("acme/tiny", TINY, INDEX_FILES)
    assert size(hub, "acme/tiny").exit_code == 0
    asked = [(one.path.rsplit("/", 1)[-1], one.range) for one in hub.asked]
    assert [*asked[:2], *sorted(asked[2:])] == [
        ("config.json", "bytes=0-4999999"),
        ("model.safetensors.index.json", "bytes=0-64000000"),
        ("m-1-of-2.safetensors", "bytes=0-199999"),
        ("m-2-of-2.safetensors", "bytes=0-199999"),
    ]


def test_a_hub_that_ignores_ranges_is_read_no_further_than_asked(hub: Local) -> None:
    hub.ranges = False
    hub.hold("acme/tiny", TINY, {"model.safetensors": header(WHOLE) + b"\0" * 50_000_000})
    (table,) = json.loads(size(hub, "acme/tiny", "--format", "json").stdout)
    assert table["terms"]["weight_bytes_per_gpu"]["expected"] == 2 * TINY_PARAMETERS


def test_without_weights_in_safetensors_the_config_counts(hub: Local) -> None:
    hub.hold("acme/tiny", TINY, {})
    (table,) = json.loads(size(hub, "acme/tiny", "--format", "json").stdout)
    assert (table["terms"]["weight_bytes_per_gpu"]["expected"], table["stored"]) == (2 * TINY_PARAMETERS, "")


def test_a_workloads_checkpoint_is_asked_for_too(hub: Local, tmp_path: Path) -> None:
    hub.hold("acme/tiny", FP8, {"model.safetensors": header(QUANTISED)})
    (tmp_path / "chat.yaml").write_text(POD)
    assert "stored: F8_E4M3 36 KiB" in size(hub, "chat.yaml").stdout


def test_a_workloads_path_is_not_asked_for(hub: Local, tmp_path: Path) -> None:
    (tmp_path / "chat.yaml").write_text(POD.replace("acme/tiny", "/models/Qwen3-8B"))
    assert size(hub, "chat.yaml").exit_code == 0
    assert hub.asked == []


# ---- a hub that does not answer


@pytest.mark.parametrize(
    ("reference", "code", "said"),
    [
        ("acme/none", 404, "has no acme/none with a config.json"),
        (
            "acme/gated",
            401,
            "answered 401 for acme/gated/config.json: it has no such checkpoint, or it requires a token (--token",
        ),
        ("acme/gated", 403, "answered 403 for acme/gated/config.json: access is denied (--token sends HF_TOKEN)"),
        ("acme/busy", 429, "answered 429 for acme/busy/config.json: too many requests were sent"),
        ("acme/broken", 500, "answered 500 for acme/broken/config.json: no reason given"),
    ],
)
def test_a_refusal_is_said_with_exit_code_2(hub: Local, reference: str, code: int, said: str) -> None:
    hub.codes[f"/{reference}/resolve/main/config.json"] = code
    result = size(hub, reference)
    assert result.exit_code == 2
    assert f"gpulint: {hub.address} {said}" in result.stderr
    assert result.stdout == ""


def test_a_machine_off_line_is_told_so() -> None:
    result = size("http://127.0.0.1:9", "acme/tiny")
    assert result.exit_code == 2
    assert result.stderr == (
        "gpulint: http://127.0.0.1:9 did not answer for acme/tiny/config.json: connection refused\n"
    )


def test_a_name_that_is_not_found_is_told_so() -> None:
    result = size("http://hub.invalid", "acme/tiny")
    assert result.exit_code == 2
    assert "did not answer for acme/tiny/config.json" in result.stderr


@pytest.mark.parametrize("address", ["file:///etc", "ftp://hub", "hub.example.com", "https://"])
def test_a_hub_is_a_web_server(address: str) -> None:
    result = size(address, "acme/tiny")
    assert result.exit_code == 2
    assert f"gpulint: {address} is not the address of a hub; write http(s)://HOST" in result.stderr


@pytest.mark.parametrize(
    "reference", ["tiny", "../../etc/passwd", "acme/tiny/more", "/models/tiny", "acme/ti ny", "a/b?c"]
)
def test_only_an_id_with_its_owner_is_asked_for(hub: Local, reference: str) -> None:
    result = size(hub, reference)
    assert (result.exit_code, hub.asked) == (2, [])
    assert result.stderr == f"gpulint: {reference} is not the id of a checkpoint on a hub; write ORG/NAME\n"


def test_a_family_that_is_not_read_is_said(hub: Local) -> None:
    hub.hold("acme/strange", {"model_type": "strange"}, {})
    result = size(hub, "acme/strange")
    assert result.exit_code == 2
    assert result.stderr == (
        "gpulint: config.json of acme/strange gives no architecture: the family strange is not supported\n"
    )


def test_a_hub_that_trickles_is_left(hub: Local) -> None:
    hub.hold("acme/tiny", TINY, {})
    with pytest.raises(architecture_hub.HubError, match="took longer than 0 s"):
        architecture_hub.resolve("acme/tiny", architecture_hub.Hub(hub.address, patience_s=0))


class Slow(threading.Thread):
    """A server that answers every request with these bytes again and again, with a pause after each."""

    def __init__(self, first: bytes, again: bytes) -> None:
        super().__init__(daemon=True)
        self.first, self.again = first, again
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def run(self) -> None:
        while True:
            connection, _ = self.listening.accept()
            self.connections += 1
            threading.Thread(target=self.trickle, args=(connection,), daemon=True).start()

    def trickle(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(65_536)
            connection.sendall(self.first)
            while self.again:
                time.sleep(0.05)
                connection.sendall(self.again)


@pytest.mark.parametrize(
    ("first", "again"),
    [
        pytest.param(b"", b"H", id="status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", id="headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nx: ", b"y", id="one header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", id="chunks"),
        pytest.param(b"HTTP/1.1 404 Not Found\r\n", b"a: b\r\n", id="refusal"),
    ],
)
def test_a_hub_that_is_slow_in_any_part_is_left_at_the_deadline(first: bytes, again: bytes) -> None:
    hub = architecture_hub.Hub(Slow(first, again).address, patience_s=0.3)
    with pytest.raises(architecture_hub.HubError, match=r"took longer than 0.3 s"):
        architecture_hub.resolve("acme/tiny", hub)


def test_redirects_are_few() -> None:
    slow = Slow(b"", b"")
    slow.first = f"HTTP/1.1 302 Found\r\nLocation: {slow.address}/more\r\nConnection: close\r\n\r\n".encode()
    with pytest.raises(architecture_hub.HubError, match="answered 302"):
        architecture_hub.resolve("acme/tiny", architecture_hub.Hub(slow.address, patience_s=20))
    assert slow.connections <= architecture_hub.REDIRECTS_MAX + 1


def test_a_hub_sends_no_more_than_one_run_accepts(hub: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.hold("acme/tiny", TINY, {"model.safetensors": b" " * 100_000})
    monkeypatch.setattr(architecture_hub, "ANSWERS_BYTES_MAX", 50_000)
    with pytest.raises(architecture_hub.HubError, match="sent more than"):
        architecture_hub.resolve("acme/tiny", architecture_hub.Hub(hub.address))


def test_a_request_that_hangs_does_not_keep_the_program_running() -> None:
    slow = Slow(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n")
    code = (
        "from gpulint.catalog.architecture import hub\n"
        f"asked = hub.Hub({slow.address!r}, patience_s=0.3)\n"
        "try: hub.resolve('acme/tiny', asked)\n"
        "except hub.HubError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=20)
    assert done.stdout == f"{slow.address} took longer than 0.3 s\n"


def test_malformed_files_leave_the_config_to_count(hub: Local) -> None:
    hub.hold("acme/tiny", TINY, {"model.safetensors": b"<html>moved</html>"})
    result = size(hub, "acme/tiny")
    assert result.exit_code == 0
    assert (
        "assumed: weights follow from config.json alone: model.safetensors is not a safetensors file" in result.stdout
    )


# ---- tokens and redirects


def test_a_token_is_sent_only_when_asked(hub: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    hub.hold("acme/tiny", TINY, {})
    size(hub, "acme/tiny")
    assert {one.token for one in hub.asked} == {""}
    hub.asked.clear()
    size(hub, "acme/tiny", "--token")
    assert {one.token for one in hub.asked} == {"Bearer secret"}


def test_a_token_that_is_not_set_is_a_misuse(hub: Local) -> None:
    result = size(hub, "acme/tiny", "--token")
    assert (result.exit_code, hub.asked) == (2, [])
    assert result.stderr == "gpulint: --token requires the environment variable HF_TOKEN, which is not set\n"


@pytest.mark.parametrize("words", [["--token"], ["--hub", "https://hub.example.com"]])
def test_a_hub_goes_with_online(words: list[str]) -> None:
    result = CliRunner().invoke(cli.main, ["size", "Qwen/Qwen3-8B", *words])
    assert (result.exit_code, result.stderr) == (2, "gpulint: --hub and --token require --online\n")


def test_another_server_is_followed_without_the_token(hub: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    with Local() as store:
        threading.Thread(target=store.serve_forever, daemon=True).start()
        hub.hold("acme/tiny", FP8, {})
        store.files["/blob"] = header(QUANTISED)
        hub.moved["/acme/tiny/resolve/main/model.safetensors"] = f"{store.address}/blob"
        assert "stored: F8_E4M3" in size(hub, "acme/tiny", "--token").stdout
        assert store.asked == [Asked("/blob", "bytes=0-199999", "")]
        store.shutdown()


def test_a_renamed_checkpoint_is_followed_with_the_token(hub: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    hub.hold("acme/new", TINY, {})
    hub.moved["/acme/old/resolve/main/config.json"] = "/acme/new/resolve/main/config.json"
    assert size(hub, "acme/old", "--token").exit_code == 0
    assert hub.asked[1] == Asked("/acme/new/resolve/main/config.json", "bytes=0-4999999", "Bearer secret")


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/config.json", "file:///etc/passwd"])
def test_no_other_protocol_is_followed(hub: Local, target: str) -> None:
    hub.moved["/acme/tiny/resolve/main/config.json"] = target
    result = size(hub, "acme/tiny")
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search("redirects to|answered 302", result.stderr)


# ---- nothing else goes on line

NETWORK = re.compile(
    r"^\s*(?:import|from)\s+(?:gpulint\.catalog\.architecture\.hub|urllib\.request|http\b|socket\b|ssl\b|ftplib|smtplib|asyncio|requests|httpx|aiohttp)"
    r"|from gpulint\.catalog\.architecture import (?:.*\W)?hub\b",
    re.MULTILINE,
)


def test_only_the_command_size_imports_what_goes_on_line() -> None:
    root = Path(gpulint.__file__).parent
    importing = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if NETWORK.search(path.read_text())}
    assert importing == {"catalog/architecture/hub.py", "cli/commands/size.py"}
    assert len(NETWORK.findall((root / "cli" / "commands" / "size.py").read_text())) == 1


def test_a_size_off_line_loads_no_module_of_the_network() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from gpulint import cli\n"
        "assert CliRunner().invoke(cli.main, ['size', 'Qwen/Qwen3-8B']).exit_code == 0\n"
        "print(sorted({'gpulint.catalog.architecture.hub', 'urllib.request', 'http.client', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
