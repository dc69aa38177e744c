// The section of the selected mirror.

import { Actions } from "./actions.js";
import { find, setData, setText, showFindings } from "./dom.js";
import { count, duration, latency, rate, size } from "./format.js";
import { HeatMap } from "./heat_map.js";
import { Lists } from "./lists.js";
import { Offsets } from "./offsets.js";
import { Pools } from "./pools.js";
import { Plots } from "./plots.js";

export class MirrorSection {
  constructor() {
    this.name = null;
    this.actions = new Actions();
    this.pools = new Pools(this.actions);
    this.plots = new Plots();
    this.offsets = new Offsets();
    this.heatMap = new HeatMap((text) => this.offsets.search(text));
    this.lists = new Lists();
    for (const button of document.querySelectorAll(".range button")) {
      button.addEventListener("click", () => this.setRange(Number(button.dataset.minutes)));
    }
  }

  show(mirror, status) {
    find("mirror").hidden = false;
    this.now = status.now; // the server's clock: it may differ from the browser's
    if (this.name !== mirror.name) {
      this.name = mirror.name;
      this.reload();
    }
    this.showFigures(mirror, status.now);
    // With a single mirror, the health line above has the same content.
    find("findings").hidden = find("mirror-rpo").hidden = status.mirrors.length === 1;
    this.actions.show(mirror);
    this.pools.show(mirror, status.now);
    this.plots.add(status.at, mirror);
    this.heatMap.show(mirror);
    this.offsets.show(mirror);
    this.lists.show(mirror, status.now);
  }

  hide() {
    find("mirror").hidden = true;
    this.name = null;
  }

  reload() {
    // Also after a lost connection: the history has the samples that were missed.
    if (this.name) this.plots.show(this.name, this.now).catch(() => {});
  }

  setRange(minutes) {
    for (const button of document.querySelectorAll(".range button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.minutes) === minutes));
    }
    if (this.name) this.plots.show(this.name, this.now, minutes).catch(() => {});
  }

  showFigures(mirror, now) {
    setText(find("name"), mirror.name);
    setText(find("route"), `${mirror.sources.join(", ")} → ${mirror.destination}`);
    setText(find("delivery"), mirror.delivery);
    const since = mirror.state_since === null ? "" : ` for ${duration((now - mirror.state_since) / 1000)}`;
    setData(find("state"), "state", mirror.state);
    setText(find("state"), `${mirror.state}${since}`);
    showFindings(find("findings"), mirror.findings, false);
    setText(find("mirror-rpo"), mirror.rpo);
    setText(find("f-records"), rate(mirror.records_per_second));
    setText(find("f-bytes"), size(mirror.bytes_per_second));
    setText(find("f-lag"), count(mirror.lag_records));
    setText(find("f-lag-time"), duration(mirror.lag_seconds));
    setText(find("f-latency"), `${latency(mirror.p50_ms)} / ${latency(mirror.p99_ms)}`);
    setText(find("f-catch-up"), mirror.catch_up.text);
    setText(find("f-delivered"), count(mirror.delivered));
    setText(find("f-not-delivered"), notDelivered(mirror));
  }
}

function notDelivered(mirror) {
  const counts = { filtered: mirror.filtered, quarantined: mirror.quarantined, skipped: mirror.skipped };
  const present = Object.entries(counts).filter(([, number]) => number);
  return present.map(([name, number]) => `${count(number)} ${name}`).join(", ") || "none";
}
