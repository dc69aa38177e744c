"""An archive of a Maven repository, downloaded and unpacked once per user.

Ivy (ivy.py) cannot fetch the one that is needed: it reads the module's description first, whose parent is
not in the repository. So it comes over HTTP, and its digest is pinned.

Invariant: as in jars.py, a directory is complete or does not exist.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from causeway.cache import cache_dir
from causeway.errors import SetupError
from causeway.local_kafka.download_lock import UNFINISHED, alone

_CENTRAL = "https://repo1.maven.org/maven2"
_TIMEOUT = 60.0
_CHUNK = 1 << 20


@dataclass(frozen=True)
class MavenArchive:
    """A .tar.gz with a classifier."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def path(self) -> str:
        """Where it is in every Maven repository."""
        directory = f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}"
        return f"{directory}/{self.artifact}-{self.version}-{self.classifier}.tar.gz"


def unpacked(archive: MavenArchive) -> Path:
    """The directory with the archive's files; raises SetupError if it cannot be downloaded."""
    place = cache_dir() / "jars" / f"{archive.artifact}-{archive.version}"
    if place.is_dir():
        return place
    with alone(place.parent):
        if not place.is_dir():  # another process may have filled it meanwhile
            _fill(archive, place)
    return place


def _fill(archive: MavenArchive, place: Path) -> None:
    for leftover in place.parent.glob(f"{UNFINISHED}*"):
        shutil.rmtree(leftover)
    unfinished = place.parent / f"{UNFINISHED}{place.name}"
    content = unfinished / "content"
    try:
        content.mkdir(parents=True)
        tarball = unfinished / "archive.tar.gz"
        _download(archive, tarball)
        with tarfile.open(tarball) as files:
            files.extractall(content, filter="data")
        content.rename(place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _download(archive: MavenArchive, into: Path) -> None:
    repository = os.environ.get("CAUSEWAY_MAVEN_REPOSITORY", _CENTRAL).rstrip("/")
    url = f"{repository}/{archive.path}"
    digest, size = hashlib.sha256(), 0
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response, into.open("wb") as file:
            _say(f"downloading {Path(archive.path).name} ({_megabytes(response.length or 0)})")
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
    except (OSError, ValueError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise SetupError(
            f"cannot download {Path(archive.path).name}",
            where=url,
            why=str(error),
            todo=(
                "check the network and try again; a proxy in https_proxy, another Maven repository in"
                " CAUSEWAY_MAVEN_REPOSITORY"
            ),
        ) from error
    if digest.hexdigest() != archive.sha256:
        raise SetupError(
            f"{Path(archive.path).name} is not what was expected",
            where=url,
            why=f"{size} bytes with SHA-256 {digest.hexdigest()}, expected {archive.sha256}",
            todo="try again; if it happens again, the repository has another file",
        )
    _say(f"downloaded {_megabytes(size)}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
