"""Behind other programs: nginx, Caddy and jupyter-server-proxy, each under a path of its own, and ssh."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

import pytest
import yaml
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.places import MINI, ROOT
from tests.serving import free_port, headlight
from tests.sessions.client import Client
from tests.sessions.expected import answer, said

PROMPT = "one two three"
CONFIGS = ROOT / "assets" / "hosting"
KEEPING = """
map $http_upgrade $kept {{ default upgrade; '' ''; }}
upstream headlight {{ server 127.0.0.1:{behind}; keepalive 1; }}
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass http://headlight;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $kept;
        proxy_set_header Host $http_host;
    }}
}}"""


@contextmanager
def _running(command: list[str], log: Path, port: int) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=log.parent, stdout=output, stderr=subprocess.STDOUT)
    try:
        for _ in range(300):
            if process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(30)


def _nginx(folder: Path, config: str) -> list[str]:
    own = "\n".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    server = f"http {{ access_log off; {own}\n{config}\n}}"
    (folder / "nginx.conf").write_text(f"pid {folder}/pid; daemon off; events {{}}\n{server}")
    return ["nginx", "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, config: str) -> list[str]:
    (folder / "Caddyfile").write_text(f"{{\n\tadmin off\n\tauto_https off\n}}\n{config}")
    return ["caddy", "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_a_page_under_a_path_is_served_with_the_manuals_configuration(proxy: str, tmp_path: Path) -> None:
    """A page, its session, its parts, and what a visitor from elsewhere may open."""
    if shutil.which(proxy) is None:
        pytest.skip(
            f"{proxy} is not installed (Debian: apt-get install {'nginx-light' if proxy == 'nginx' else proxy})"
        )
    port, behind = free_port(), free_port()
    config = (CONFIGS / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[proxy]).read_text()
    for theirs, ours in {
        "127.0.0.1:8501": f"127.0.0.1:{behind}",
        "listen 443 ssl;": f"listen 127.0.0.1:{port};",
        "headlight.example {": f"http://127.0.0.1:{port} {{",
        "headlight.example": "127.0.0.1",
    }.items():
        config = config.replace(theirs, ours)
    config = "\n".join(line for line in config.splitlines() if "ssl_" not in line)
    command = {"nginx": _nginx, "caddy": _caddy}[proxy](tmp_path, config)
    url = f"http://127.0.0.1:{port}/headlight"
    with _served(tmp_path, behind), _running(command, tmp_path / "proxy.txt", port):
        with urlopen(f"{url}/") as page:
            assert b"static/" in page.read()
        _check_session(url)


def _served(folder: Path, port: int) -> AbstractContextManager[str]:
    return headlight(folder, "--threads=1", "--allowed-hosts=127.0.0.1", port=port)


def _check_session(url: str) -> None:
    """A session is answered, and one of another page is not."""
    own = "http://" + urlsplit(url).netloc
    with Client(url, headers={"Origin": own}) as client:
        client.submit(PROMPT, True)
        assert said(client.texts).same(answer(PROMPT, True))
    with pytest.raises(InvalidStatus) as refused, Client(url, headers={"Origin": "http://evil.example"}):
        pass
    assert refused.value.response.status_code >= 400


@pytest.mark.thorough
@pytest.mark.skipif(
    shutil.which("nginx") is None, reason="nginx is not installed (Debian: apt-get install nginx-light)"
)
def test_visitors_of_a_proxy_that_keeps_its_connections_stay_with_their_workers(tmp_path: Path) -> None:
    """nginx sends the next visitor's request by the connection that the one before has used, if it may."""
    port, behind = free_port(), free_port()
    command = _nginx(tmp_path, KEEPING.format(port=port, behind=behind))
    url = f"http://127.0.0.1:{port}"
    served = headlight(tmp_path, "--workers=2", "--threads=1", "--allowed-hosts=127.0.0.1", port=behind)
    with served, _running(command, tmp_path / "proxy.txt", port), ExitStack() as sessions:
        clients = [sessions.enter_context(Client(url, "page=prompts")) for _ in range(2)]
        assert {client.cookies for client in clients} == {"headlight_worker=0", "headlight_worker=1"}
        for number in range(4):  # a file is taken by the worker alone that has given its address
            clients[number % 2].upload(f"{number}.txt", f"one two {number}".encode())
            assert f"one two {number}" in clients[number % 2].all_texts


@pytest.mark.skipif(find_spec("jupyter_server_proxy") is None, reason="jupyter-server-proxy is not installed")
def test_a_page_is_served_by_jupyters_proxy(tmp_path: Path) -> None:
    port, behind = free_port(), free_port()
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path}"]
    command += ["--ServerApp.jpserver_extensions={'jupyter_server_proxy': True}"]
    url = f"http://127.0.0.1:{port}/proxy/{behind}"
    with _served(tmp_path, behind), _running(command, tmp_path / "proxy.txt", port):
        with urlopen(f"{url}/") as page:
            assert b"static/" in page.read()
        _check_session(url)


SSHD = shutil.which("sshd", path=f"{os.defpath}:/usr/sbin:/sbin")
SSHD_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/visitor.pub
PermitRootLogin prohibit-password
PidFile none
StrictModes no
UsePAM no
"""


@contextmanager
def _ssh_server(folder: Path) -> Iterator[list[str]]:
    """An ssh server for this user and a key of its own; how one connects to it to forward ports."""
    port = free_port()
    for key in ("host", "visitor"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(port=port, folder=folder))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # which Debian makes as it starts its own
    options = ["ExitOnForwardFailure=yes", "StrictHostKeyChecking=no", f"UserKnownHostsFile={folder}/hosts"]
    visitor = ["ssh", "-F", "none", "-N", "-p", str(port), "-i", f"{folder}/visitor", *(f"-o{o}" for o in options)]
    with _running([str(SSHD), "-D", "-e", "-f", f"{folder}/sshd_config"], folder / "sshd.txt", port):
        yield [*visitor, f"{getpass.getuser()}@127.0.0.1"]


@pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: apt-get install openssh-server)")
def test_a_page_is_served_through_ssh_and_goes_on_after_it_was_cut(tmp_path: Path) -> None:
    """As on one's own machine, a folder and a file of it may be opened."""
    near, far = free_port(), free_port()
    url = f"http://127.0.0.1:{near}"
    with headlight(tmp_path, "--threads=1", port=far), _ssh_server(tmp_path) as visitor:
        forward = [*visitor, "-L", f"{near}:localhost:{far}"]
        with _running(forward, tmp_path / "ssh.txt", near):
            _check_session(url)
            client = Client(url, urlencode({"model": str(MINI)}), headers={"Origin": url}).open()
            client.submit(PROMPT, True)
            client.go_to("prompts")
            client.upload("mine.txt", b"green garden\n" * 2)
            assert "mine.txt" in client.all_texts
        with pytest.raises(ConnectionClosed):
            client.go_to("")
        with _running(forward, tmp_path / "ssh.txt", near):
            client.open().go_to("")
            assert said(client.texts).same(answer(PROMPT, True))
            client.close()


def test_the_manual_shows_these_configurations_and_the_containers_port() -> None:
    manual = (ROOT / "docs" / "how-to" / "host.md").read_text()
    assert all((CONFIGS / name).read_text().rstrip() in manual for name in ("nginx.conf", "Caddyfile"))
    port = yaml.safe_load(manual.partition("---\ntitle")[2].partition("---")[0].partition("\n")[2])["app_port"]
    assert f"EXPOSE {port}\n" in (ROOT / "Dockerfile").read_text()
    services = yaml.safe_load((CONFIGS / "compose.yaml").read_text())["services"]
    assert services["headlight"]["expose"] == [str(port)]
    assert services["proxy"]["command"].endswith(f"headlight:{port}")
    assert (CONFIGS / services["headlight"]["build"]).resolve() == ROOT
