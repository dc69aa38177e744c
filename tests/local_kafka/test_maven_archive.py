"""An archive comes over HTTP, whole and as expected, or not at all."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from causeway.errors import SetupError
from causeway.local_kafka.maven_archive import MavenArchive, unpacked

PATH = "/org/example/thing/1.0/thing-1.0-all.tar.gz"


def tarball(name: str = "lib/thing.jar") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as files:
        member = tarfile.TarInfo(name)
        member.size = 5
        files.addfile(member, io.BytesIO(b"thing"))
    return content.getvalue()


def archive(content: bytes) -> MavenArchive:
    return MavenArchive("org.example", "thing", "1.0", "all", hashlib.sha256(content).hexdigest())


class Repository(http.server.ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.content = tarball()
        self.sent: int | None = None
        self.asked: list[str] = []


class Answers(http.server.BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        if self.path != PATH:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content[: self.server.sent])

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAUSEWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def repo(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    with Repository() as server:
        monkeypatch.setenv("CAUSEWAY_MAVEN_REPOSITORY", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield server
        server.shutdown()
        serving.join()


def assert_nothing_left(cache: Path) -> None:
    assert [file.name for file in (cache / "jars").iterdir()] == [".lock"]


def test_it_is_unpacked_once(repo: Repository, cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    place = unpacked(archive(repo.content))
    assert (place / "lib" / "thing.jar").read_text() == "thing"
    assert unpacked(archive(repo.content)) == place
    assert repo.asked == [PATH]
    assert "downloading thing-1.0-all.tar.gz" in capfd.readouterr().err
    assert {file.name for file in (cache / "jars").iterdir()} == {".lock", "thing-1.0"}


def test_another_file_is_refused(repo: Repository, cache: Path) -> None:
    expected = archive(repo.content)
    repo.content = tarball("lib/other.jar")
    with pytest.raises(SetupError, match="not what was expected") as caught:
        unpacked(expected)
    assert expected.sha256 in caught.value.why
    assert_nothing_left(cache)


def test_half_a_file_is_refused_and_the_next_try_is_whole(repo: Repository, cache: Path) -> None:
    repo.sent = 20
    with pytest.raises(SetupError):
        unpacked(archive(repo.content))
    assert_nothing_left(cache)
    repo.sent = None
    assert (unpacked(archive(repo.content)) / "lib" / "thing.jar").exists()


def test_a_version_that_is_not_there(repo: Repository, cache: Path) -> None:
    with pytest.raises(SetupError, match="cannot download thing-9-all") as caught:
        unpacked(replace(archive(repo.content), version="9"))
    assert "404" in caught.value.why
    assert_nothing_left(cache)


def test_no_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSEWAY_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(SetupError) as caught:
        unpacked(archive(b""))
    assert "CAUSEWAY_MAVEN_REPOSITORY" in caught.value.todo
    assert_nothing_left(cache)


def test_what_a_killed_download_left_is_thrown_away(repo: Repository, cache: Path) -> None:
    left = cache / "jars" / ".unfinished-thing-1.0" / "content"
    left.mkdir(parents=True)
    (left / "half.jar").write_text("half")
    assert not (unpacked(archive(repo.content)) / "half.jar").exists()


def test_no_file_is_written_outside(repo: Repository, cache: Path) -> None:
    repo.content = tarball("../../outside.jar")
    with pytest.raises(tarfile.OutsideDestinationError):
        unpacked(archive(repo.content))
    assert_nothing_left(cache)
    assert not (cache / "outside.jar").exists()
