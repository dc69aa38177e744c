// Both clusters' offsets side by side, for the partitions that somebody looks for.

import { get, of } from "./api.js";
import { find, mark, rows, say } from "./dom.js";
import { count, span, utc } from "./format.js";

const ROWS = 200;
const EVERY = 2000;
const TYPING = 200;

export class Offsets {
  constructor() {
    this.mirror = null;
    this.text = find("offsets-text");
    this.order = find("offsets-order");
    this.asked = null;
    this.seen = true;
    this.typing = 0;
    find("offsets-form").addEventListener("submit", (event) => event.preventDefault());
    this.text.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.load(), TYPING);
    });
    this.order.addEventListener("change", () => this.load());
    // Nobody is asked for what nobody sees.
    new IntersectionObserver((entries) => (this.seen = entries.at(-1).isIntersecting)).observe(find("offsets").parentElement);
    setInterval(() => {
      if (this.mirror && this.seen && !document.hidden) this.load();
    }, EVERY);
  }

  show(mirror) {
    const another = this.mirror?.name !== mirror.name;
    this.mirror = mirror;
    if (!another) return;
    this.text.value = "";
    say(find("offsets-source"), mirror.sources.length > 1 ? "the sources" : mirror.sources[0]);
    say(find("offsets-destination"), mirror.destination);
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
    this.asked?.abort();
    const asked = (this.asked = new AbortController());
    const query = new URLSearchParams({ q: this.text.value.trim(), order: this.order.value, limit: ROWS });
    try {
      const answer = await get(`${of(this.mirror.name, "partitions")}?${query}`, { signal: asked.signal });
      this.draw(answer);
    } catch {
      // The next time, or the line at the top, says more.
    }
  }

  draw({ total, matching, partitions }) {
    const fewer = partitions.length < matching ? `the first ${count(partitions.length)} of ` : "";
    say(find("offsets-count"), this.text.value ? `${fewer}${count(matching)} that match, of ${count(total)}` : total ? `${fewer}${count(total)}` : "");
    const none = find("no-offsets");
    none.hidden = partitions.length > 0;
    say(none, total ? "No partition is like that." : "No partition has been planned yet.");
    rows(find("offsets"), partitions, COLUMNS, (row, one) => mark(row, "state", one.verdict ? "stopped" : ""));
  }
}

const number = (name) => ({ text: (one) => count(one[name]), kind: "n" });

const COLUMNS = [
  { text: (one) => one.name, head: true, title: (one) => `${one.name}, shard ${one.shard}` },
  { ...number("log_start"), kind: "n g" },
  { ...number("position"), title: (one) => `began at ${count(one.start)}` },
  number("log_end"),
  number("lag_records"),
  { text: place, kind: "g" },
  number("to_end"),
  { ...number("delivered"), kind: "n g" },
  number("filtered"),
  number("quarantined"),
  number("holes"),
  number("skipped"),
  { text: (one) => span(one.lag_seconds), kind: "n g", title: committed },
  { text: state, title: (one) => (one.verdict ? `${one.what}\ndo: ${one.todo}` : "") },
];

function place(one) {
  return one.to_partition === null ? `${one.to_topic} by key` : `${one.to_topic}[${one.to_partition}]`;
}

function committed(one) {
  return one.committed_at === null ? "nothing was committed yet" : `last committed ${utc(one.committed_at)}`;
}

function state(one) {
  if (one.verdict) return `× ${one.verdict}`;
  if (one.position === null) return "not begun";
  return one.lag_records ? "goes on" : "all carried";
}
