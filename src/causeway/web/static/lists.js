// Shards, events, gaps and the configuration: asked for when they change, or when they grow old.

import { get, of } from "./api.js";
import { find, make, mark, rows, say, tell } from "./dom.js";
import { count, span, time, utc } from "./format.js";

const EVENTS = 100;
const GAPS = 200;
const SHARDS_EVERY = 2000;
const SILENT = 30; // seconds; the server warns later, since heartbeats may be a minute apart

export class Lists {
  constructor() {
    this.forget();
    this.name = null;
    setInterval(() => {
      if (this.name && !document.hidden) this.load("shards", (answer) => this.shards(answer));
    }, SHARDS_EVERY);
  }

  forget() {
    this.marks = {};
  }

  show(mirror, now) {
    this.now = now;
    if (this.name !== mirror.name) {
      this.forget();
      this.name = mirror.name;
      this.load("shards", (answer) => this.shards(answer));
    }
    this.renew("events", mirror.marks.events, `events?limit=${EVENTS}`, (answer) => this.events(answer));
    this.renew("gaps", mirror.marks.gaps, `gaps?limit=${GAPS}`, (answer) => this.gaps(answer));
    this.renew("configuration", mirror.marks.configuration, "configuration", (answer) =>
      say(find("configuration"), answer.configuration));
  }

  renew(what, changed, path, draw) {
    if (this.marks[what] === changed) return;
    this.marks[what] = changed;
    this.load(path, draw, () => (this.marks[what] = null));
  }

  async load(path, draw, failed = () => {}) {
    const name = this.name;
    try {
      const answer = await get(of(name, path));
      if (this.name === name) draw(answer);
    } catch {
      failed();
    }
  }

  shards({ shards }) {
    find("no-shards").hidden = shards.length > 0;
    rows(find("shards"), shards, SHARD);
  }

  gaps({ total, gaps }) {
    find("no-gaps").hidden = total > 0;
    find("gaps-table").hidden = total === 0;
    say(find("gaps-title"), total > gaps.length ? `Offsets that were passed over (the first ${gaps.length} of ${count(total)})` : "Offsets that were passed over");
    rows(find("gaps"), gaps, [
      { text: (one) => time(one.at, this.now), title: (one) => utc(one.at) },
      { text: (one) => `${one.cluster}:${one.topic}[${one.partition}]` },
      { text: (one) => one.verdict },
      { text: (one) => count(one.begin), kind: "n" },
      { text: (one) => count(one.end), kind: "n" },
      { text: (one) => count(one.offsets), kind: "n" },
      { text: (one) => one.by },
      { text: (one) => one.told },
    ]);
  }

  events({ events }) {
    find("no-events").hidden = events.length > 0;
    find("events").replaceChildren(...events.map((one) => this.event(one)));
  }

  event(one) {
    const item = make("li");
    mark(item, "level", one.level === "info" ? "notice" : one.level);
    const when = make("time", "", time(one.at, this.now));
    when.dateTime = new Date(one.at).toISOString();
    when.title = utc(one.at);
    const sign = make("span", "sign");
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", one.level);
    const words = make("div", "what");
    const [what, todo] = [make("p"), make("p", "todo")];
    tell(what, one.what);
    tell(todo, one.todo);
    words.append(what, todo, make("p", "quiet", about(one)));
    item.append(when, sign, words);
    return item;
  }
}

const SHARD = [
  { text: (one) => String(one.number), kind: "n" },
  { text: (one) => one.host },
  { text: (one) => String(one.pid), kind: "n" },
  { text: (one) => one.carrier },
  { text: (one) => count(one.partitions), kind: "n" },
  { text: (one) => count(one.transactions), kind: "n", title: transaction },
  { text: (one) => count(one.retries), kind: "n", title: (one) => `${count(one.fences)} fenced` },
  { draw: heard, kind: "n" },
];

function heard(cell, one) {
  const silent = one.heartbeat_age !== null && one.heartbeat_age > SILENT;
  say(cell, one.heartbeat_age === null ? "not yet" : `${silent ? "! " : ""}${span(one.heartbeat_age)} ago`);
  cell.classList.toggle("bad", silent);
}

function transaction(one) {
  if (!one.transactions) return "none yet";
  const records = Math.round(one.transaction_records / one.transactions);
  return `${count(records)} records and ${span(one.transaction_seconds / one.transactions)} each`;
}

function about(one) {
  const where = one.topic ? `${one.topic}${one.partition === null ? "" : `[${one.partition}]`}` : "";
  const offset = one.offset === null ? "" : ` at offset ${count(one.offset)}`;
  const who = one.shard ? `shard ${one.shard}` : "driver";
  return where ? `${who} · ${where}${offset}` : who;
}
