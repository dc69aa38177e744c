"""A plugin's file: each version that a mirror uses is kept in the cache, under its digest.

So a plugin that is built again while a mirror runs takes effect at the next start, as a Python filter does,
and Go never maps a file that is being overwritten. The digest travels in the task order.
"""

from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path

from causeway.cache import cache_dir
from causeway.go_filters.build_info import GoBuild, read_build
from causeway.go_filters.toolchain import PAGE_COMMAND, cannot_load, host_for, writable


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


def kept_plugin(path: str, digest: str) -> Path:
    """The plugin with this digest, in the cache; raises ConfigError if neither cache nor path has it."""
    plugins = cache_dir() / "go-plugins"
    kept = plugins / digest
    if kept.is_file():
        return kept
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise cannot_load(
            path,
            error.strerror or str(error),
            "copy it to this path on the driver and on every executor, or share CAUSEWAY_CACHE among them",
        ) from None
    if digest_of(content) != digest:
        raise cannot_load(
            path,
            "the file differs from the driver's",
            "copy the driver's to this path on every executor; if it was built again, start the mirror again",
        )
    with writable(path, plugins), tempfile.TemporaryDirectory(dir=plugins) as directory:
        unfinished = Path(directory) / digest
        unfinished.write_bytes(content)
        unfinished.replace(kept)
    return kept


def build_of(path: str, plugin: Path) -> GoBuild:
    """How a plugin was built; raises ConfigError for a file that is no plugin."""
    build = read_build(plugin.read_bytes())
    if build is None:
        why = "it is not a program that Go has built"
    elif build.settings.get("-buildmode", "plugin") != "plugin":
        why = f"it was built with -buildmode={build.settings['-buildmode']}"
    else:
        return build
    raise cannot_load(path, why, f"build it as a plugin: {PAGE_COMMAND}")


def plugin_and_host(path: str, digest: str) -> tuple[Path, Path]:
    """The files to run; the program is built if the cache has none for this plugin."""
    plugin = kept_plugin(path, digest)
    return plugin, host_for(path, build_of(path, plugin))
