// The mirror that was chosen, with everything about it.

import { Actions } from "./actions.js";
import { find, findings, mark, say } from "./dom.js";
import { NONE, count, millis, rate, size, span } from "./format.js";
import { Heat } from "./heat.js";
import { Lists } from "./lists.js";
import { Offsets } from "./offsets.js";
import { Plots } from "./plots.js";

export class Detail {
  constructor() {
    this.name = null;
    this.actions = new Actions();
    this.plots = new Plots();
    this.offsets = new Offsets();
    this.heat = new Heat((text) => this.offsets.search(text));
    this.lists = new Lists();
    for (const button of document.querySelectorAll(".switch button")) {
      button.addEventListener("click", () => this.range(Number(button.dataset.minutes)));
    }
  }

  show(mirror, moment) {
    find("mirror").hidden = false;
    this.now = moment.now; // the server's: clocks differ
    if (this.name !== mirror.name) {
      this.name = mirror.name;
      this.reload();
    }
    this.figures(mirror, moment.now);
    // The only mirror there is has all of this above.
    find("findings").hidden = find("mirror-rpo").hidden = moment.mirrors.length === 1;
    this.actions.show(mirror);
    this.plots.add(moment.at, mirror);
    this.heat.show(mirror);
    this.offsets.show(mirror);
    this.lists.show(mirror, moment.now);
  }

  hide() {
    find("mirror").hidden = true;
    this.name = null;
  }

  reload() {
    // After a while without a connection too: the history has what was missed.
    if (this.name) this.plots.show(this.name, this.now).catch(() => {});
  }

  range(minutes) {
    for (const button of document.querySelectorAll(".switch button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.minutes) === minutes));
    }
    if (this.name) this.plots.show(this.name, this.now, minutes).catch(() => {});
  }

  figures(one, now) {
    say(find("name"), one.name);
    say(find("route"), `${one.sources.join(", ")} → ${one.destination}`);
    say(find("delivery"), one.delivery);
    const since = one.state_since === null ? "" : ` for ${span((now - one.state_since) / 1000)}`;
    mark(find("state"), "state", one.state);
    say(find("state"), `${one.state}${since}`);
    findings(find("findings"), one.findings, false);
    say(find("mirror-rpo"), one.rpo);
    say(find("f-records"), rate(one.records_per_second));
    say(find("f-bytes"), size(one.bytes_per_second));
    say(find("f-lag"), one.partitions ? count(one.lag_records) : NONE);
    say(find("f-behind"), one.partitions ? span(one.lag_seconds) : NONE);
    say(find("f-latency"), `${millis(one.p50_ms)} / ${millis(one.p99_ms)}`);
    say(find("f-catch-up"), one.catch_up.words);
    say(find("f-delivered"), count(one.delivered));
    say(find("f-left-out"), leftOut(one));
  }
}

function leftOut(one) {
  // Records and offsets that did not arrive, and never will by themselves.
  const parts = ["filtered", "quarantined", "skipped"].filter((name) => one[name]);
  return parts.map((name) => `${count(one[name])} ${name}`).join(", ") || "nothing";
}
