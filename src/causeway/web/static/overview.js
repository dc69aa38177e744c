// The health line, and the table of all mirrors.

import { create, fillTable, find, setData, setText, setTextWithCode, showFindings } from "./dom.js";
import { count, counted, duration, latency, rate, short, size } from "./format.js";

const SHOWN = 8;
let announced = null;

export function showOverview(status, selected) {
  const [first, ...others] = status.findings;
  const several = status.mirrors.length > 1;
  showHealth(first, several);
  showFindings(find("health-more"), shortened(others), several);
  setText(find("rpo"), status.rpo);
  document.title = `${first.level === "ok" ? "" : "● "}Causeway · ${status.host}`;
  const up = duration((status.now - status.started_at) / 1000);
  setText(find("process"), `${status.version} · process ${status.pid} on ${status.host} · up ${up}`);
  find("no-mirrors").hidden = status.mirrors.length > 0;
  find("mirrors").hidden = status.mirrors.length === 0;
  fillTable(find("mirrors").tBodies[0], status.mirrors, COLUMNS, (row, mirror) => {
    row.setAttribute("aria-current", String(mirror.name === selected));
    setData(row, "name", mirror.name);
  });
}

function showHealth(finding, several) {
  setData(find("health"), "level", finding.level);
  setText(find("health-mirror"), several ? finding.mirror : "");
  setTextWithCode(find("health-what"), finding.what);
  setTextWithCode(find("health-todo"), finding.todo);
  // The rows that the server rendered have fewer columns.
  if (announced === null) find("mirrors").tBodies[0].replaceChildren();
  if (announced !== finding.level) {
    // Screen readers announce a change of the level, not of each number.
    announced = finding.level;
    setText(find("health-announced"), `${finding.mirror} ${finding.what} ${finding.todo}`);
  }
}

export function showDisconnected(status) {
  // Without a connection the state of the mirrors is unknown.
  setData(find("health"), "level", "error");
  setText(find("health-mirror"), "");
  setText(find("health-what"), "No response from this address: all figures are old.");
  const process = status ? `process ${status.pid} on ${status.host}` : "the process";
  setText(find("health-todo"), `check that ${process} still runs, and that it can be reached from here`);
  find("health-more").replaceChildren();
  announced = announced && "lost";
}

export function clickedMirror(event) {
  const row = event.target.closest("tr[data-name]");
  return row ? row.dataset.name : null;
}

const COLUMNS = [
  { header: true, draw: drawName },
  { text: (mirror) => `${mirror.sources.join(", ")} → ${mirror.destination}` },
  { draw: drawState },
  { text: (mirror) => rate(mirror.records_per_second), className: "number", label: "records/s" },
  { text: (mirror) => size(mirror.bytes_per_second), className: "number", label: "bytes/s" },
  { text: (mirror) => short(mirror.lag_records), className: "number", label: "lag", title: (mirror) => count(mirror.lag_records) },
  { text: (mirror) => duration(mirror.lag_seconds), className: "number", label: "lag time" },
  { text: (mirror) => latency(mirror.p99_ms), className: "number", label: "p99" },
  { text: (mirror) => mirror.catch_up.text },
  { draw: drawStopped, className: "number", label: "stopped" },
];

function drawName(cell, mirror) {
  let link = cell.firstElementChild;
  if (!link || link.tagName !== "A") {
    cell.textContent = "";
    link = cell.appendChild(create("a"));
  }
  link.href = `#/${encodeURIComponent(mirror.name)}`;
  setText(link, mirror.name);
}

function drawState(cell, mirror) {
  setText(cell, mirror.state);
  cell.classList.toggle("alert", ["waiting", "failed"].includes(mirror.state));
}

function drawStopped(cell, mirror) {
  setText(cell, mirror.stopped ? `× ${count(mirror.stopped)} of ${count(mirror.partitions)}` : "0");
  cell.classList.toggle("alert", mirror.stopped > 0);
}

function shortened(findings) {
  if (findings.length <= SHOWN) return findings;
  const what = `… and ${counted(findings.length - SHOWN, "more finding")}`;
  return [...findings.slice(0, SHOWN), { level: "notice", what, todo: "", mirror: "" }];
}
