// Offsets of both clusters side by side, for the partitions that match the search.

import { get, mirrorPath } from "./api.js";
import { fillTable, find, setData, setText } from "./dom.js";
import { count, duration, place, utc } from "./format.js";

const ROWS = 200;
const REFRESH = 2000;
const TYPING = 200;

export class Offsets {
  constructor() {
    this.mirror = null;
    this.text = find("offsets-text");
    this.order = find("offsets-order");
    this.pending = null;
    this.visible = true;
    this.typing = 0;
    find("offsets-form").addEventListener("submit", (event) => event.preventDefault());
    this.text.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.load(), TYPING);
    });
    this.order.addEventListener("change", () => this.load());
    // No requests while the table is scrolled out of view.
    const observer = new IntersectionObserver((entries) => (this.visible = entries.at(-1).isIntersecting));
    observer.observe(find("offsets").parentElement);
    setInterval(() => {
      if (this.mirror && this.visible && !document.hidden) this.load();
    }, REFRESH);
  }

  show(mirror) {
    const changed = this.mirror?.name !== mirror.name;
    this.mirror = mirror;
    if (!changed) return;
    this.text.value = "";
    setText(find("offsets-source"), mirror.sources.length > 1 ? "sources" : mirror.sources[0]);
    setText(find("offsets-destination"), mirror.destination);
    find("offsets").replaceChildren();
    this.load();
  }

  search(text) {
    this.text.value = text;
    this.load();
    this.text.focus();
    this.text.scrollIntoView({ block: "center" });
  }

  async load() {
    this.pending?.abort();
    const pending = (this.pending = new AbortController());
    const query = new URLSearchParams({ q: this.text.value.trim(), order: this.order.value, limit: ROWS });
    try {
      this.draw(await get(`${mirrorPath(this.mirror.name, "partitions")}?${query}`, { signal: pending.signal }));
    } catch {
      // Retried at the next refresh; a lost connection is shown at the top.
    }
  }

  draw(partitionList) {
    setText(find("offsets-count"), summary(partitionList, Boolean(this.text.value)));
    const none = find("no-offsets");
    none.hidden = partitionList.partitions.length > 0;
    setText(none, partitionList.total ? "No partition matches." : "No partitions planned yet.");
    fillTable(find("offsets"), partitionList.partitions, COLUMNS, (row, partition) =>
      setData(row, "state", partition.verdict ? "stopped" : ""));
  }
}

function summary(partitionList, searching) {
  if (!partitionList.total) return "";
  const shown = partitionList.partitions.length;
  const first = shown < partitionList.matching ? `first ${count(shown)} of ` : "";
  if (searching) return `${first}${count(partitionList.matching)} matching, ${count(partitionList.total)} in total`;
  return `${first}${count(partitionList.total)}`;
}

const COLUMNS = [
  { text: (partition) => partition.name, header: true, title: (partition) => `${partition.name}, shard ${partition.shard}` },
  { text: (partition) => count(partition.log_start), className: "number first" },
  { text: (partition) => count(partition.position), className: "number", title: (partition) => `started at ${count(partition.start)}` },
  { text: (partition) => count(partition.log_end), className: "number" },
  { text: (partition) => count(partition.lag_records), className: "number" },
  { text: place, className: "first" },
  { text: (partition) => count(partition.to_end), className: "number" },
  { text: (partition) => count(partition.delivered), className: "number first" },
  { text: (partition) => count(partition.filtered), className: "number" },
  { text: (partition) => count(partition.quarantined), className: "number" },
  { text: (partition) => count(partition.holes), className: "number" },
  { text: (partition) => count(partition.skipped), className: "number" },
  { text: (partition) => duration(partition.lag_seconds), className: "number first", title: lastCommit },
  { text: state, title: (partition) => (partition.verdict ? `${partition.what}\ndo: ${partition.todo}` : partition.waits_for) },
];

function lastCommit(partition) {
  return partition.committed_at === null ? "no commit yet" : `last commit ${utc(partition.committed_at)}`;
}

function state(partition) {
  if (partition.verdict) return `× stopped: ${partition.verdict}`;
  if (partition.waits_for) return "waits for schemas";
  if (partition.position === null) return "not started";
  if (partition.lag_records === null) return "lag unknown";
  return partition.lagging ? "lagging" : "caught up";
}
