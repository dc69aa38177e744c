// Source pools: their nodes, the moves of shards between them, and a button to move by hand.

import { create, fillTable, find, setData, setText } from "./dom.js";
import { NONE, count, duration, time, utc } from "./format.js";

export class Pools {
  constructor(actions) {
    this.actions = actions;
    find("pool-nodes").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) actions.request("failover", { pool: button.dataset.pool, node: button.dataset.node });
    });
  }

  show(mirror, now) {
    find("pools").hidden = mirror.pools.length === 0;
    const nodes = mirror.pools.flatMap((pool) => pool.nodes.map((poolNode) => ({ pool, poolNode })));
    fillTable(find("pool-nodes"), nodes, [
      { text: ({ pool }) => pool.name },
      { text: ({ poolNode }) => poolNode.name },
      { draw: (cell, { poolNode }) => drawState(cell, poolNode) },
      { text: ({ poolNode }) => count(poolNode.lag_records), className: "number" },
      { text: ({ poolNode }) => poolNode.shards.join(", ") || NONE },
      { text: ({ poolNode }) => poolNode.why },
      { draw: (cell, { pool, poolNode }) => this.drawButton(cell, mirror, pool, poolNode) },
    ]);
    const moves = mirror.pools.flatMap((pool) => pool.moves.map((nodeMove) => ({ pool, nodeMove })));
    moves.sort((left, right) => right.nodeMove.at - left.nodeMove.at);
    find("moves-table").hidden = moves.length === 0;
    find("no-moves").hidden = moves.length > 0;
    fillTable(find("moves"), moves, [
      { text: ({ nodeMove }) => time(nodeMove.at, now), title: ({ nodeMove }) => utc(nodeMove.at) },
      { text: ({ pool }) => pool.name },
      { text: ({ nodeMove }) => String(nodeMove.shard), className: "number" },
      { text: ({ nodeMove }) => nodeMove.left || "none" },
      { text: ({ nodeMove }) => nodeMove.to || "none" },
      { text: ({ nodeMove }) => duration(nodeMove.pause_seconds), className: "number" },
      { text: ({ nodeMove }) => `${nodeMove.reason}: ${nodeMove.what}` },
    ]);
  }

  drawButton(cell, mirror, pool, poolNode) {
    if (!cell.firstChild) {
      const button = create("button", "", "Read from here");
      button.type = "button";
      cell.append(button);
    }
    const button = cell.firstChild;
    setData(button, "pool", pool.name);
    setData(button, "node", poolNode.name);
    const others = pool.nodes.some((poolNode) => poolNode.name !== button.dataset.node && poolNode.shards.length);
    button.disabled = !this.actions.enabled || mirror.state !== "running" || poolNode.state !== "fit" || !others;
    button.setAttribute("aria-label", `Read ${pool.name} from ${poolNode.name}`);
  }
}

function drawState(cell, poolNode) {
  setText(cell, poolNode.state);
  cell.classList.toggle("alert", !["fit", "unknown"].includes(poolNode.state));
}
