// The first line, and all mirrors at a glance.

import { find, findings, make, mark, rows, say, tell } from "./dom.js";
import { NONE, count, millis, rate, short, size, span } from "./format.js";

const SHOWN = 8;
let spoken = null;

export function overview(moment, selected) {
  const [first, ...others] = moment.findings;
  const several = moment.mirrors.length > 1;
  mark(find("verdict"), "level", first.level);
  say(find("first-mirror"), several ? first.mirror : "");
  tell(find("first"), first.what);
  tell(find("first-todo"), first.todo);
  findings(find("others"), shortened(others), several);
  say(find("rpo"), moment.rpo);
  // The rows that came with the page know less than these.
  if (spoken === null) find("glance").tBodies[0].replaceChildren();
  if (spoken !== first.level) {
    // Read out when it becomes another, and not each time a number does.
    spoken = first.level;
    say(find("spoken"), `${first.mirror} ${first.what} ${first.todo}`);
  }
  document.title = `${first.level === "well" ? "" : "● "}Causeway · ${moment.host}`;
  const up = span((moment.now - moment.started_at) / 1000);
  say(find("process"), `${moment.version} · process ${moment.pid} on ${moment.host} · up for ${up}`);
  find("no-mirrors").hidden = moment.mirrors.length > 0;
  find("glance").hidden = moment.mirrors.length === 0;
  rows(find("glance").tBodies[0], moment.mirrors, COLUMNS, (row, one) => {
    row.setAttribute("aria-current", String(one.name === selected));
    mark(row, "name", one.name);
  });
}

export function alone(latest) {
  // Without a connection nobody knows whether all is still well.
  mark(find("verdict"), "level", "error");
  say(find("first-mirror"), "");
  say(find("first"), "Nothing answers at this address: what is shown is old.");
  const process = latest ? `process ${latest.pid} on ${latest.host}` : "the process";
  say(find("first-todo"), `see whether ${process} still runs, and can be reached from here`);
  find("others").replaceChildren();
  spoken = spoken && "lost";
}

export function chosen(event) {
  // The name of the mirror whose row was clicked.
  const row = event.target.closest("tr[data-name]");
  return row ? row.dataset.name : null;
}

const COLUMNS = [
  { head: true, draw: linked },
  { text: (one) => `${one.sources.join(", ")} → ${one.destination}` },
  { draw: stated },
  { text: (one) => rate(one.records_per_second), kind: "n", label: "records/s" },
  { text: (one) => size(one.bytes_per_second), kind: "n", label: "bytes/s" },
  { text: (one) => (one.partitions ? short(one.lag_records) : NONE), kind: "n", label: "lag", title: (one) => count(one.lag_records) },
  { text: (one) => (one.partitions ? span(one.lag_seconds) : NONE), kind: "n", label: "behind" },
  { text: (one) => millis(one.p99_ms), kind: "n", label: "p99" },
  { text: (one) => one.catch_up.words },
  { draw: stopped, kind: "n", label: "stopped" },
];

function linked(cell, one) {
  let link = cell.firstElementChild;
  if (!link || link.tagName !== "A") {
    cell.textContent = "";
    link = cell.appendChild(make("a"));
  }
  link.href = `#/${encodeURIComponent(one.name)}`;
  say(link, one.name);
}

function stated(cell, one) {
  say(cell, one.state);
  cell.classList.toggle("bad", ["waiting", "failed"].includes(one.state));
}

function stopped(cell, one) {
  say(cell, one.standing ? `× ${count(one.standing)} of ${count(one.partitions)}` : "0");
  cell.classList.toggle("bad", one.standing > 0);
}

function shortened(others) {
  if (others.length <= SHOWN) return others;
  const more = { level: "notice", what: `… and ${others.length - SHOWN} things more`, todo: "", mirror: "" };
  return [...others.slice(0, SHOWN), more];
}
