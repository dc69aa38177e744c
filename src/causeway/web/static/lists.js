// Shards, events, gaps and the configuration: requested again when they change.

import { get, mirrorPath } from "./api.js";
import { create, fillTable, find, setData, setText, setTextWithCode } from "./dom.js";
import { NONE, count, counted, duration, time, utc } from "./format.js";

const EVENTS = 100;
const GAPS = 200;
const SHARDS_EVERY = 2000;
const SILENT = 30; // seconds; the server warns later, since heartbeats may be a minute apart

export class Lists {
  constructor() {
    this.versions = {};
    this.name = null;
    setInterval(() => {
      if (this.name && !document.hidden) this.load("shards", (list) => this.showShards(list));
    }, SHARDS_EVERY);
  }

  show(mirror, now) {
    this.now = now;
    if (this.name !== mirror.name) {
      this.versions = {};
      this.name = mirror.name;
      this.load("shards", (list) => this.showShards(list));
    }
    const versions = mirror.versions;
    this.refresh("events", versions.events, `events?limit=${EVENTS}`, (list) => this.showEvents(list));
    this.refresh("gaps", versions.gaps, `gaps?limit=${GAPS}`, (list) => this.showGaps(list));
    this.refresh("configuration", versions.configuration, "configuration", (content) =>
      setText(find("configuration"), content.configuration));
  }

  refresh(route, version, path, draw) {
    if (this.versions[route] === version) return;
    this.versions[route] = version;
    this.load(path, draw, () => (this.versions[route] = null));
  }

  async load(path, draw, failed = () => {}) {
    const name = this.name;
    try {
      const content = await get(mirrorPath(name, path));
      if (this.name === name) draw(content);
    } catch {
      failed();
    }
  }

  showShards(shardList) {
    find("no-shards").hidden = shardList.shards.length > 0;
    fillTable(find("shards"), shardList.shards, SHARD_COLUMNS);
  }

  showGaps(gapList) {
    const { length } = gapList.gaps;
    find("no-gaps").hidden = gapList.total > 0;
    find("gaps-table").hidden = gapList.total === 0;
    setText(find("gaps-count"), gapList.total > length ? `latest ${length} of ${count(gapList.total)}` : "");
    fillTable(find("gaps"), gapList.gaps, [
      { text: (gap) => time(gap.at, this.now), title: (gap) => utc(gap.at) },
      { text: (gap) => `${gap.cluster}:${gap.topic}[${gap.partition}]` },
      { text: (gap) => gap.verdict },
      { text: (gap) => count(gap.begin), className: "number" },
      { text: (gap) => count(gap.end), className: "number" },
      { text: (gap) => count(gap.offsets), className: "number" },
      { text: (gap) => gap.by },
      { text: (gap) => gap.text },
    ]);
  }

  showEvents(eventList) {
    find("no-events").hidden = eventList.events.length > 0;
    find("events").replaceChildren(...eventList.events.map((logEvent) => this.eventItem(logEvent)));
  }

  eventItem(logEvent) {
    const item = create("li");
    setData(item, "level", logEvent.level === "info" ? "notice" : logEvent.level);
    const at = create("time", "", time(logEvent.at, this.now));
    at.dateTime = new Date(logEvent.at).toISOString();
    at.title = utc(logEvent.at);
    const icon = create("span", "icon");
    icon.setAttribute("role", "img");
    icon.setAttribute("aria-label", logEvent.level);
    const text = create("div", "what");
    const [what, todo] = [create("p"), create("p", "todo")];
    setTextWithCode(what, logEvent.what);
    setTextWithCode(todo, logEvent.todo);
    text.append(what, todo, create("p", "muted", origin(logEvent)));
    item.append(at, icon, text);
    return item;
  }
}

const SHARD_COLUMNS = [
  { text: (shard) => String(shard.number), className: "number" },
  { text: (shard) => shard.host || NONE },
  { text: (shard) => (shard.pid ? String(shard.pid) : NONE), className: "number" },
  { text: (shard) => shard.carrier || NONE },
  { text: (shard) => count(shard.partitions), className: "number" },
  { text: (shard) => count(shard.transactions), className: "number", title: meanTransaction },
  { text: (shard) => count(shard.retries), className: "number", title: (shard) => counted(shard.fences, "fence") },
  { draw: drawHeartbeat, className: "number" },
];

function drawHeartbeat(cell, shard) {
  const age = shard.heartbeat_age_seconds;
  const silent = age !== null && age > SILENT;
  setText(cell, age === null ? "none yet" : `${silent ? "! " : ""}${duration(age)} ago`);
  cell.classList.toggle("alert", silent);
}

function meanTransaction(shard) {
  if (!shard.transactions) return "none yet";
  const records = Math.round(shard.transaction_records / shard.transactions);
  return `on average ${counted(records, "record")} and ${duration(shard.transaction_seconds / shard.transactions)}`;
}

function origin(logEvent) {
  const partition = logEvent.partition === null ? "" : `[${logEvent.partition}]`;
  const offset = logEvent.offset === null ? "" : ` at offset ${count(logEvent.offset)}`;
  const writer = logEvent.shard ? `shard ${logEvent.shard}` : "driver";
  return logEvent.topic ? `${writer} · ${logEvent.topic}${partition}${offset}` : writer;
}
