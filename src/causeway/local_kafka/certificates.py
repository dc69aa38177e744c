"""The certificate of a cluster's brokers, made with the keytool of the Java that runs them.

    <directory>/ca.pem         the authority that signed it: what clients trust
    <directory>/brokers.p12    its private key and chain, valid for localhost and 127.0.0.1

The authority's own key is deleted as soon as it has signed, so it vouches for these brokers alone.
"""

from __future__ import annotations

import ssl
import subprocess
import tempfile
import time
from pathlib import Path

from causeway.errors import SetupError
from causeway.local_kafka.java import find_java
from causeway.local_kafka.private_files import OWNER_ALONE, write_private

DAYS = 365
RENEWED_BEFORE_DAYS = 30
"""A start makes a new one if fewer days than this are left: a cluster may run for weeks."""

_DAY_SECONDS = 24 * 3600
_SECONDS = 60.0
_FAST = ("-J-XX:TieredStopAtLevel=1", "-J-Duser.language=en")
_KEY = ("-keyalg", "EC", "-groupname", "secp256r1", "-sigalg", "SHA256withECDSA", "-storetype", "PKCS12")
_PASSWORD_FILE = "password"


def authority_file(directory: Path) -> Path:
    return directory / "ca.pem"


def key_store(directory: Path) -> Path:
    return directory / "brokers.p12"


def make(directory: Path, name: str, password: str, *, age_days: int = 0) -> None:
    """Make both files, or replace them. `password` is the key store's; `name` becomes part of the subject."""
    keytool = _keytool()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=".new-") as scratch:
        new = Path(scratch)
        write_private(new / _PASSWORD_FILE, password)
        valid = ("-startdate", f"-{age_days}d", "-validity", str(DAYS))
        _run(
            keytool, new, "-genkeypair", "-alias", "authority", *_KEY, *valid,
            "-dname", f"CN=authority of {name}, O=causeway kafka",
            "-ext", "bc:critical=ca:true,pathlen:0", "-ext", "ku:critical=keyCertSign",
        )  # fmt: skip
        _run(
            keytool, new, "-genkeypair", "-alias", "brokers", *_KEY, *valid, "-signer", "authority",
            "-dname", f"CN=brokers of {name}, O=causeway kafka",
            "-ext", "san=dns:localhost,ip:127.0.0.1",
            "-ext", "ku:critical=digitalSignature", "-ext", "eku=serverAuth",
        )  # fmt: skip
        _run(keytool, new, "-exportcert", "-rfc", "-alias", "authority", "-file", authority_file(new).name)
        _run(keytool, new, "-delete", "-alias", "authority")
        # The authority comes last: it decides whether the files are due, so a kill in between is repaired.
        for place in (key_store, authority_file):
            place(new).chmod(OWNER_ALONE)
            place(new).replace(place(directory))


def is_due(directory: Path) -> bool:
    """Whether they are missing, or expired, or expire soon."""
    if not key_store(directory).is_file():
        return True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(authority_file(directory))
    except OSError:  # missing or damaged
        return True
    ends = [ssl.cert_time_to_seconds(str(known["notAfter"])) for known in context.get_ca_certs()]
    return not ends or min(ends) < time.time() + RENEWED_BEFORE_DAYS * _DAY_SECONDS


def _keytool() -> Path:
    java = find_java()
    for found in (java.with_name("keytool"), java.resolve().with_name("keytool")):
        if found.is_file():
            return found
    raise SetupError(
        "no keytool beside Java, and TLS needs it to make certificates",
        where=str(java),
        todo="install a complete Java runtime, or set JAVA_HOME to the directory of one",
    )


def _run(keytool: Path, directory: Path, *arguments: str) -> None:
    """Run it in this directory. The password is in a file: everybody can read a process's arguments."""
    store = ("-keystore", key_store(directory).name, "-storepass:file", _PASSWORD_FILE, "-noprompt")
    try:
        done = subprocess.run(
            [keytool, *_FAST, *arguments, *store],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            umask=0o077,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(keytool, str(error)) from None
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise _failed(keytool, " / ".join(lines[-3:]) or f"exit status {done.returncode}")


def _failed(keytool: Path, why: str) -> SetupError:
    return SetupError(
        "keytool could not make a certificate",
        where=str(keytool),
        why=why,
        todo="try another Java runtime: set JAVA_HOME to its directory",
    )
