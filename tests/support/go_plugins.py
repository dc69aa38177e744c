"""Go plugins for the tests, built with the commands that users type."""

from __future__ import annotations

import fcntl
import shlex
import shutil
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import psutil
import pytest

from causeway.go_filters.go_filter import GoFilter
from causeway.go_filters.plugin_file import digest_of

KEPT = Path(__file__).parents[2] / "build" / "go-plugins"
"""What the page's command has built: its `-a` builds all of Go's packages again, for 15 seconds and more."""

PAGE = 'CGO_ENABLED=1 go build -a -ldflags="-s -w" -buildmode=plugin -o testfilter.filter sample.go'
"""As kaf-relay's page has it."""

SAMPLE = """\
package main

import "encoding/json"

type TestFilter struct{}

type Config struct{}

func New(b []byte) (interface{}, error) {
	var cfg Config
	if err := json.Unmarshal(b, &cfg); err != nil {
		return nil, err
	}
	return &TestFilter{}, nil
}

func (f *TestFilter) ID() string { return "testfilter" }

func (f *TestFilter) IsAllowed(msg []byte) bool { return false }
"""
"""kaf-relay's sample: it drops every record."""

SHOPS = """\
package main

import (
	"encoding/json"
	"errors"
)

type shops map[string]bool

func New(b []byte) (interface{}, error) {
	var config struct{ Shops []string }
	if err := json.Unmarshal(b, &config); err != nil {
		return nil, err
	}
	if len(config.Shops) == 0 {
		return nil, errors.New("no shops\\nin \\x1b[31mthe configuration")
	}
	known := shops{}
	for _, shop := range config.Shops {
		known[shop] = true
	}
	return known, nil
}

func (s shops) ID() string { return "testfilter" }

func (s shops) IsAllowed(msg []byte) bool {
	var order struct{ Shop string }
	if err := json.Unmarshal(msg, &order); err != nil {
		panic(err)
	}
	return s[order.Shop]
}
"""
"""Keeps the orders of the shops in its configuration; panics on a value that is no JSON."""

PROBE = """\
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
)

type probe struct {
	config []byte
	last   []byte
}

func New(b []byte) (interface{}, error) {
	fmt.Println("loading")
	switch {
	case bytes.Contains(b, []byte("panics")):
		var none map[string]int
		none["x"] = 1
	case bytes.Contains(b, []byte("exits")):
		fmt.Fprintln(os.Stderr, "cannot connect")
		os.Exit(4)
	case bytes.Contains(b, []byte("other type")):
		return 5, nil
	case bytes.Contains(b, []byte("once")):
		if once(strings.Split(string(b), `"`)[3]) {
			os.Exit(5)
		}
	}
	return &probe{config: b}, nil
}

func (p *probe) ID() string { return "probe" }

func overflow(n int) int { return overflow(n+1) + 1 }

// once returns whether this is the first call with this path.
func once(path string) bool {
	if _, err := os.Stat(path); err == nil {
		return false
	}
	return os.WriteFile(path, nil, 0o600) == nil
}

func (p *probe) IsAllowed(msg []byte) bool {
	if msg == nil {
		return bytes.Contains(p.config, []byte("null"))
	}
	if len(msg) == 0 {
		return bytes.Contains(p.config, []byte("empty"))
	}
	before := p.last
	p.last = msg
	what, path, _ := strings.Cut(string(msg), ":")
	switch what {
	case "configuration":
		return path == string(p.config)
	case "panic":
		panic("not this one")
	case "panic with a colour":
		panic("\\x1b[31mred\\n" + path)
	case "append":
		p.last = append(msg, "over"...)
	case "index":
		return msg[len(msg)+len(p.config)] == 1
	case "exit":
		fmt.Fprintln(os.Stderr, "giving up")
		os.Exit(3)
	case "overflow":
		debug.SetMaxStack(1 << 20)
		return overflow(0) > 0
	case "exit once":
		if once(path) {
			os.Exit(3)
		}
	case "hang", "hang once":
		for once(path) || what == "hang" {
			select {}
		}
	case "spin":
		for once(path); ; {
		}
	case "child":
		child := exec.Command("sleep", "60")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			panic(err)
		}
		return os.WriteFile(path, []byte(fmt.Sprint(child.Process.Pid)), 0o600) == nil
	case "print":
		for n := 0; n < 10000; n++ {
			fmt.Println(strings.Repeat("text ", 20))
		}
	case "as before":
		return bytes.Equal(before, []byte("kept for later"))
	case "drop":
		return false
	}
	return true
}
"""
"""Does what a value says."""


def go() -> str:
    found = shutil.which("go")
    if found is None:
        pytest.skip("there is no `go` on the PATH")
    return found


def build(directory: Path, source: str, command: str) -> Path:
    """The file that a command line makes of a plugin's source; with `-a` once for all pytest workers."""
    directory.mkdir(parents=True, exist_ok=True)
    if "-a" not in shlex.split(command):
        return _built(directory, source, command)
    version = subprocess.run([go(), "version"], check=True, capture_output=True).stdout
    kept = KEPT / sha256(b"\0".join([version, command.encode(), source.encode()])).hexdigest()[:16]
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = [path for path in kept.iterdir() if path.name.startswith("done-")]
        if not done:
            built = _built(kept, source, command)
            done = [built.rename(kept / f"done-{built.name}")]
    return Path(shutil.copy(done[0], directory / done[0].name.removeprefix("done-")))


def _built(directory: Path, source: str, command: str) -> Path:
    go()
    words = shlex.split(command)
    (directory / words[-1]).write_text(source)
    subprocess.run(["env", *words], cwd=directory, check=True, capture_output=True)
    return directory / words[words.index("-o") + 1]


def quickly(name: str, flags: str = "") -> str:
    """A command line without `-a`, which builds all of Go's packages again."""
    return f"CGO_ENABLED=1 go build {flags} -buildmode=plugin -o {name}.filter {name}.go"


def filter_of(plugin: Path, config: dict[str, object] | None = None, plugin_id: str = "") -> GoFilter:
    digest = digest_of(plugin.read_bytes())
    return GoFilter(str(plugin), plugin_id or plugin.stem, digest, config or {})


def hosts(directory: Path, age: float = 0) -> list[int]:
    """The processes that run programs of this cache, for so many seconds already."""
    found = []
    for process in psutil.process_iter(["cmdline", "status", "create_time"]):
        info = process.info
        command = info["cmdline"] or [""]
        if (
            command[0].startswith(str(directory))
            and info["status"] != psutil.STATUS_ZOMBIE
            and time.time() - info["create_time"] >= age
        ):
            found.append(process.pid)
    return found
