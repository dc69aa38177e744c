// Three plots over the same time range: throughput, lag, latency. They share their cursor.

import { get } from "./api.js";
import { create, find, setText } from "./dom.js";
import { NONE, duration, latency, rate, short, size } from "./format.js";

const HEIGHT = 180;
const TIMES = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];
const PLOTS = [
  {
    id: "plot-rate",
    left: { name: "records_per_second", label: "records/s", text: rate, axis: short, least: 10 },
    right: { name: "bytes_per_second", label: "", text: (value) => `${size(value)}/s`, axis: (value) => size(value).replace(".0", ""), least: 1000 },
  },
  {
    id: "plot-lag",
    left: { name: "lag_records", label: "records of lag", text: short, axis: short, least: 10 },
    right: { name: "lag_seconds", label: "lag time", text: duration, axis: (value) => duration(value).replace(".0", ""), least: 2, incrs: TIMES },
  },
  {
    id: "plot-latency",
    left: { name: "p50_ms", label: "p50", text: latency, axis: latency, least: 20 },
    right: { name: "p99_ms", label: "p99", text: latency, axis: null },
  },
];
const NAMES = ["at", ...PLOTS.flatMap((plot) => [plot.left.name, plot.right.name])];

export class Plots {
  constructor() {
    this.minutes = 10;
    this.mirror = null;
    this.data = empty();
    this.drawn = [];
    // A canvas has no style sheet: build the plots again when the colour scheme changes.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
    new ResizeObserver(() => this.fit()).observe(find(PLOTS[0].id));
  }

  async show(mirror, now, minutes = this.minutes) {
    this.mirror = mirror;
    this.minutes = minutes;
    this.data = empty();
    const since = now - minutes * 60000;
    const history = await get(`history?mirror=${encodeURIComponent(mirror)}&since=${since}`);
    if (this.mirror !== mirror || this.minutes !== minutes) return;
    // Samples that the stream brought meanwhile follow it.
    const later = this.data;
    this.data = Object.fromEntries(NAMES.map((name) => [name, history[name]]));
    later.at.forEach((at, index) => this.push(Object.fromEntries(NAMES.map((name) => [name, later[name][index]]))));
    this.build();
  }

  add(at, mirror) {
    this.push({ ...mirror, at });
    const begin = at - this.minutes * 60000;
    while (this.data.at.length && this.data.at[0] < begin) NAMES.forEach((name) => this.data[name].shift());
    this.draw();
  }

  push(sample) {
    const last = this.data.at.at(-1) ?? 0;
    if (sample.at < last) return;
    // One sample per second, like the history: the latest of each second.
    if (Math.floor(last / 1000) === Math.floor(sample.at / 1000)) NAMES.forEach((name) => this.data[name].pop());
    NAMES.forEach((name) => this.data[name].push(sample[name] ?? null));
  }

  build() {
    this.drawn.forEach((plot) => plot.destroy());
    this.drawn = PLOTS.map((plot) => new uPlot(this.options(plot), this.series(plot), find(plot.id)));
    this.draw();
  }

  draw() {
    PLOTS.forEach((plot, index) => {
      this.drawn[index]?.setData(this.series(plot));
      this.caption(plot, this.drawn[index]?.cursor.idx);
    });
  }

  fit() {
    PLOTS.forEach((plot, index) => this.drawn[index]?.setSize({ width: find(plot.id).clientWidth, height: HEIGHT }));
  }

  series(plot) {
    return [this.data.at.map((at) => at / 1000), this.data[plot.left.name], this.data[plot.right.name]];
  }

  caption(plot, index) {
    // The value under the cursor, or the last one.
    const caption = find(`${plot.id}-text`);
    const at = index ?? this.data.at.length - 1;
    [plot.left, plot.right].forEach((series, which) => {
      const text = caption.children[which] ?? caption.appendChild(create("span"));
      if (!text.firstChild) text.append(create("b"), document.createTextNode(series.label ? ` ${series.label}` : ""));
      const value = this.data[series.name][at];
      setText(text.firstChild, value === null || value === undefined ? NONE : series.text(value));
    });
  }

  options(plot) {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const shared = plot.right.axis === null;
    const grid = { stroke: colour("grid"), width: 1 };
    const axis = (more) => ({ stroke: colour("muted"), font: "11px system-ui", ticks: { show: false }, ...more });
    // Always from zero, and not so close that the noise of an idle mirror looks large.
    const fromZero = (least) => ({ range: (u, low, high) => [0, Math.max(least, (high ?? 0) * 1.1)] });
    return {
      width: find(plot.id).clientWidth,
      height: HEIGHT,
      padding: [8, shared ? 12 : 0, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: "mirror" }, drag: { x: false, y: false }, points: { size: 6 }, y: false },
      scales: {
        x: { range: (u, low, high) => [Math.min(low, high - 60), high] },
        left: fromZero(plot.left.least),
        right: fromZero(plot.right.least),
      },
      axes: [
        axis({ grid, space: 70, size: 28, values: (u, ticks) => ticks.map(clock) }),
        axis({ scale: "left", grid, size: 56, space: 36, values: (u, ticks) => ticks.map(plot.left.axis) }),
        ...(shared ? [] : [axis({ scale: "right", side: 1, size: 62, space: 36, incrs: plot.right.incrs, grid: { show: false }, values: (u, ticks) => ticks.map(plot.right.axis) })]),
      ],
      series: [
        {},
        { scale: "left", stroke: colour("series-1"), width: 1.75, points: { show: false }, fill: `${colour("series-1")}18` },
        { scale: shared ? "left" : "right", stroke: colour("series-2"), width: 1.5, dash: [5, 3], points: { show: false } },
      ],
      hooks: { setCursor: [(u) => this.caption(plot, u.cursor.idx)] },
    };
  }
}

function empty() {
  return Object.fromEntries(NAMES.map((name) => [name, []]));
}

function clock(seconds) {
  const all = new Date(seconds * 1000).toLocaleTimeString("en-GB");
  return seconds % 60 ? all : all.slice(0, 5);
}
