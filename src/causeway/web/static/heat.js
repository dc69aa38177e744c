// Every partition as a cell: how far it is behind by colour, those that stand still by a cross as well.

import { get, of } from "./api.js";
import { find, say } from "./dom.js";
import { count, span } from "./format.js";

const STEPS = [1, 10, 60, 600];
const GAP = 2;
const LABELLED = 24; // with more topics than this, names would take more room than cells
const LABEL = 13;
const IDLE = "Point at a cell, tap it, or walk with the arrow keys. A click or Enter shows its offsets.";

export class Heat {
  constructor(onChosen) {
    this.canvas = find("heat");
    this.words = find("heat-words");
    this.forget();
    this.canvas.addEventListener("pointermove", (event) => this.point(this.under(event)));
    this.canvas.addEventListener("pointerdown", (event) => this.point(this.under(event)));
    // A finger that was lifted still wants to read.
    this.canvas.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && this.point(-1));
    this.canvas.addEventListener("blur", () => this.point(-1));
    this.canvas.addEventListener("click", (event) => event.pointerType === "mouse" && this.choose(onChosen));
    this.canvas.addEventListener("keydown", (event) => this.key(event, onChosen));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new ResizeObserver(() => this.arrange()).observe(this.canvas.parentElement);
  }

  forget() {
    this.layout = [];
    this.cells = [];
    this.mark = null;
    this.mirror = null;
    this.at = -1;
  }

  async show(mirror) {
    if (this.name !== mirror.name) {
      this.forget();
      this.name = mirror.name;
    }
    this.mirror = mirror;
    if (this.mark !== mirror.marks.layout) {
      const mark = (this.mark = mirror.marks.layout);
      const answer = await get(of(mirror.name, "layout")).catch(() => null);
      if (this.mark !== mark) return;
      if (answer === null) this.mark = null; // asked for again with the next moment
      else this.layout = answer.partitions;
      this.arrange();
    }
    this.draw();
  }

  // Cells in rows; each topic begins one, and has its name above it, where there are few.
  arrange() {
    const wide = this.canvas.parentElement.clientWidth;
    const total = this.layout.length;
    const side = total <= 60 ? 24 : total <= 300 ? 18 : total <= 1500 ? 13 : 9;
    const step = side + GAP;
    const columns = Math.max(1, Math.floor((wide + GAP) / step));
    const topics = new Set(this.layout.map((one) => `${one.cluster} ${one.topic}`));
    const labelled = topics.size <= LABELLED && topics.size > 1;
    this.labels = [];
    this.cells = [];
    let x = 0;
    let y = 0;
    let last = null;
    for (const one of this.layout) {
      const topic = `${one.cluster} ${one.topic}`;
      if (labelled && topic !== last) {
        y += last === null ? 0 : step + 4;
        x = 0;
        this.labels.push({ text: one.name.slice(0, one.name.lastIndexOf("[")), y: y + LABEL - 3 });
        y += LABEL + 3;
      } else if (x >= columns) {
        x = 0;
        y += step;
      }
      last = topic;
      this.cells.push({ x: x * step, y });
      x += 1;
    }
    this.side = side;
    this.wide = wide;
    this.high = total ? y + side : 0;
    this.columns = columns;
    this.draw();
  }

  draw() {
    const mirror = this.mirror;
    if (!mirror || !this.wide) return;
    const scale = devicePixelRatio || 1;
    const canvas = this.canvas;
    if (canvas.width !== Math.round(this.wide * scale) || canvas.height !== Math.round((this.high + 2) * scale)) {
      canvas.width = Math.round(this.wide * scale);
      canvas.height = Math.round((this.high + 2) * scale);
      canvas.style.height = `${this.high + 2}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const steps = STEPS.concat(Infinity).map((_, index) => colour(`step-${index}`));
    const stopped = new Set(mirror.stopped);
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 1, 1);
    pen.clearRect(-1, -1, this.wide + 2, this.high + 4);
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = colour("quiet");
    for (const label of this.labels) pen.fillText(label.text, 0, label.y, this.wide);
    this.cells.forEach((cell, index) => {
      const seconds = mirror.heat[index];
      if (stopped.has(index)) this.cross(pen, cell, colour);
      else if (seconds === null || seconds === undefined) {
        pen.strokeStyle = colour("quiet");
        pen.lineWidth = 1;
        pen.strokeRect(cell.x + 0.5, cell.y + 0.5, this.side - 1, this.side - 1);
      } else {
        pen.fillStyle = steps[stepOf(seconds)];
        pen.fillRect(cell.x, cell.y, this.side, this.side);
      }
    });
    if (this.cells[this.at]) {
      pen.strokeStyle = colour("focus");
      pen.lineWidth = 2;
      pen.strokeRect(this.cells[this.at].x - 0.5, this.cells[this.at].y - 0.5, this.side + 1, this.side + 1);
      this.tell();
    }
    canvas.hidden = mirror.partitions === 0;
    if (canvas.hidden) say(this.words, "No partition has been planned yet.");
    else if (this.at < 0) say(this.words, IDLE);
    const still = `${count(mirror.standing)} stand${mirror.standing === 1 ? "s" : ""} still`;
    say(find("heat-count"), canvas.hidden ? "" : `${count(mirror.partitions)}, ${still}`);
    canvas.setAttribute("aria-label", `${count(mirror.partitions)} partitions, ${still}`);
  }

  cross(pen, { x, y }, colour) {
    const side = this.side;
    pen.fillStyle = colour("stopped");
    pen.fillRect(x, y, side, side);
    pen.strokeStyle = colour("card");
    pen.lineWidth = Math.max(1.5, side / 8);
    pen.beginPath();
    const inset = side * 0.25;
    pen.moveTo(x + inset, y + inset);
    pen.lineTo(x + side - inset, y + side - inset);
    pen.moveTo(x + side - inset, y + inset);
    pen.lineTo(x + inset, y + side - inset);
    pen.stroke();
    pen.strokeStyle = colour("error");
    pen.lineWidth = 2;
    pen.strokeRect(x, y, side, side);
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

  tell() {
    const one = this.layout[this.at];
    const place = one.to_partition === null ? `${one.to_topic} by key` : `${one.to_topic}[${one.to_partition}]`;
    const still = this.mirror.standing_still.find((stands) => stands.index === this.at);
    const seconds = this.mirror.heat[this.at];
    let how = seconds === null ? "not begun with yet" : `${span(seconds)} behind`;
    if (this.mirror.stopped.includes(this.at)) how = "stands still";
    if (still) how = `stands still (${still.verdict}): ${still.what}. Do: ${still.todo}`;
    say(this.words, `${one.name} → ${place} · shard ${one.shard} · ${how}`);
  }

  choose(onChosen) {
    const one = this.layout[this.at];
    if (one) onChosen(`${one.cluster}:${one.topic}[${one.partition}]`);
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
