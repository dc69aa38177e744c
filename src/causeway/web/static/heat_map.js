// A cell for each partition: its lag by colour; stopped partitions also by a cross.

import { get, mirrorPath } from "./api.js";
import { find, setText } from "./dom.js";
import { count, counted, duration, place } from "./format.js";

const STEPS = [1, 10, 60, 600];
const GAP = 2;
const LABELLED_TOPICS = 24; // with more topics, names would take more room than cells
const LABEL_HEIGHT = 13;
const HINT = "Point at a cell, tap it, or use the arrow keys. Click or press Enter to show its offsets.";

export class HeatMap {
  constructor(onChosen) {
    this.canvas = find("heat-map");
    this.text = find("heat-map-text");
    this.reset();
    this.canvas.addEventListener("pointermove", (event) => this.point(this.under(event)));
    this.canvas.addEventListener("pointerdown", (event) => this.point(this.under(event)));
    // After a tap the text stays.
    this.canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.point(-1));
    this.canvas.addEventListener("blur", () => this.point(-1));
    this.canvas.addEventListener("click", (event) => event.pointerType === "mouse" && this.choose(onChosen));
    this.canvas.addEventListener("keydown", (event) => this.key(event, onChosen));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.arrange()).observe(this.canvas.parentElement);
  }

  reset() {
    this.layout = [];
    this.cells = [];
    this.version = null;
    this.mirror = null;
    this.at = -1;
  }

  async show(mirror) {
    if (this.name !== mirror.name) {
      this.reset();
      this.name = mirror.name;
    }
    this.mirror = mirror;
    if (this.version !== mirror.versions.layout) {
      const version = (this.version = mirror.versions.layout);
      const apiLayout = await get(mirrorPath(mirror.name, "layout")).catch(() => null);
      if (this.version !== version) return;
      if (apiLayout === null) this.version = null; // requested again with the next status
      else this.layout = apiLayout.partitions;
      this.arrange();
    }
    this.draw();
  }

  // Cells in rows. With few topics, each one starts a new row below its name.
  arrange() {
    const width = this.canvas.parentElement.clientWidth;
    const total = this.layout.length;
    const side = total <= 60 ? 24 : total <= 300 ? 18 : total <= 1500 ? 13 : 9;
    const step = side + GAP;
    const columns = Math.max(1, Math.floor((width + GAP) / step));
    const topics = new Set(this.layout.map((layoutCell) => `${layoutCell.cluster} ${layoutCell.topic}`));
    const labelled = topics.size <= LABELLED_TOPICS && topics.size > 1;
    this.labels = [];
    this.cells = [];
    let x = 0;
    let y = 0;
    let last = null;
    for (const layoutCell of this.layout) {
      const topic = `${layoutCell.cluster} ${layoutCell.topic}`;
      if (labelled && topic !== last) {
        y += last === null ? 0 : step + 4;
        x = 0;
        this.labels.push({ text: layoutCell.name.slice(0, layoutCell.name.lastIndexOf("[")), y: y + LABEL_HEIGHT - 3 });
        y += LABEL_HEIGHT + 3;
      } else if (x >= columns) {
        x = 0;
        y += step;
      }
      last = topic;
      this.cells.push({ x: x * step, y });
      x += 1;
    }
    this.side = side;
    this.width = width;
    this.height = total ? y + side : 0;
    this.columns = columns;
    this.draw();
  }

  draw() {
    const mirror = this.mirror;
    if (!mirror || !this.width) return;
    const scale = devicePixelRatio || 1;
    const canvas = this.canvas;
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round((this.height + 2) * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round((this.height + 2) * scale);
      canvas.style.height = `${this.height + 2}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const steps = STEPS.concat(Infinity).map((_, index) => colour(`lag-${index}`));
    const stopped = new Set(mirror.stopped_indexes);
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 1, 1);
    context.clearRect(-1, -1, this.width + 2, this.height + 4);
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colour("muted");
    for (const label of this.labels) context.fillText(label.text, 0, label.y, this.width);
    this.cells.forEach((cell, index) => {
      const seconds = mirror.partition_lag_seconds[index];
      if (stopped.has(index)) this.drawStopped(context, cell, colour);
      else if (seconds === null || seconds === undefined) {
        context.strokeStyle = colour("muted");
        context.lineWidth = 1;
        context.strokeRect(cell.x + 0.5, cell.y + 0.5, this.side - 1, this.side - 1);
      } else {
        context.fillStyle = steps[stepOf(seconds)];
        context.fillRect(cell.x, cell.y, this.side, this.side);
      }
    });
    if (this.cells[this.at]) {
      context.strokeStyle = colour("focus");
      context.lineWidth = 2;
      context.strokeRect(this.cells[this.at].x - 0.5, this.cells[this.at].y - 0.5, this.side + 1, this.side + 1);
      this.describe();
    }
    canvas.hidden = mirror.partitions === 0;
    if (canvas.hidden) setText(this.text, "No partitions planned yet.");
    else if (this.at < 0) setText(this.text, HINT);
    const summary = `${counted(mirror.partitions, "partition")}, ${count(mirror.stopped)} stopped`;
    setText(find("heat-map-count"), canvas.hidden ? "" : summary);
    canvas.setAttribute("aria-label", summary);
  }

  drawStopped(context, { x, y }, colour) {
    const side = this.side;
    context.fillStyle = colour("stopped");
    context.fillRect(x, y, side, side);
    context.strokeStyle = colour("card");
    context.lineWidth = Math.max(1.5, side / 8);
    context.beginPath();
    const inset = side * 0.25;
    context.moveTo(x + inset, y + inset);
    context.lineTo(x + side - inset, y + side - inset);
    context.moveTo(x + side - inset, y + inset);
    context.lineTo(x + inset, y + side - inset);
    context.stroke();
    context.strokeStyle = colour("error");
    context.lineWidth = 2;
    context.strokeRect(x, y, side, side);
  }

  under(event) {
    const x = event.offsetX;
    const y = event.offsetY;
    const reach = this.side + GAP;
    return this.cells.findIndex((cell) => x >= cell.x && x < cell.x + reach && y >= cell.y && y < cell.y + reach);
  }

  point(index) {
    if (index === this.at) return;
    this.at = index;
    this.draw();
  }

  describe() {
    const layoutCell = this.layout[this.at];
    const stoppedPartition = this.mirror.stopped_partitions.find((stoppedPartition) => stoppedPartition.index === this.at);
    const seconds = this.mirror.partition_lag_seconds[this.at];
    let state = seconds === null ? "not started" : `lag ${duration(seconds)}`;
    if (this.mirror.stopped_indexes.includes(this.at)) state = "stopped";
    if (stoppedPartition) state = `stopped (${stoppedPartition.verdict}): ${stoppedPartition.what}. Do: ${stoppedPartition.todo}`;
    setText(this.text, `${layoutCell.name} → ${place(layoutCell)} · shard ${layoutCell.shard} · ${state}`);
  }

  choose(onChosen) {
    const layoutCell = this.layout[this.at];
    if (layoutCell) onChosen(`${layoutCell.cluster}:${layoutCell.topic}[${layoutCell.partition}]`);
  }

  key(event, onChosen) {
    const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns };
    if (event.key === "Enter") this.choose(onChosen);
    else if (event.key in moves) this.point(Math.min(this.cells.length - 1, Math.max(0, this.at + moves[event.key])));
    else return;
    event.preventDefault();
  }
}

function stepOf(seconds) {
  const step = STEPS.findIndex((bound) => seconds < bound);
  return step < 0 ? STEPS.length : step;
}
