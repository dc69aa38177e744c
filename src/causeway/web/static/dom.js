// The few ways in which this page changes its document. What comes from data is text, and never markup.

export function find(id) {
  return document.getElementById(id);
}

export function say(node, text) {
  // Only what differs: a selection, or a reader's place, survives the half second.
  if (node.textContent !== text) node.textContent = text;
}

export function tell(node, text) {
  // A sentence in which `this` is what somebody would type.
  const parts = text.split("`");
  if (node.textContent === parts.join("")) return;
  node.replaceChildren(...parts.map((part, index) => (index % 2 ? make("code", "", part) : part)));
}

export function mark(node, name, value) {
  if (node.dataset[name] !== value) node.dataset[name] = value;
}

export function make(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

export function rows(body, items, columns, finish = () => {}) {
  // A row for each item, reused from one time to the next. A column is {text, kind, head, title, label}.
  while (body.rows.length > items.length) body.deleteRow(-1);
  items.forEach((item, index) => {
    let row = body.rows[index];
    if (!row || row.cells.length !== columns.length) {
      if (row) row.remove();
      row = body.insertRow(index);
      for (const column of columns) {
        const cell = make(column.head ? "th" : "td", column.kind ?? "");
        if (column.head) cell.scope = "row";
        if (column.label) cell.dataset.label = column.label;
        row.append(cell);
      }
    }
    columns.forEach((column, at) => {
      const cell = row.cells[at];
      if (column.draw) column.draw(cell, item);
      else say(cell, column.text(item));
      if (column.title) cell.title = column.title(item);
    });
    finish(row, item);
  });
}

export function findings(list, found, withMirror) {
  while (list.children.length > found.length) list.lastElementChild.remove();
  found.forEach((one, index) => {
    let item = list.children[index];
    if (!item || !item.querySelector(".todo")) {
      const fresh = make("li");
      const sign = make("span", "sign");
      sign.setAttribute("aria-hidden", "true");
      const words = make("div");
      const line = make("p");
      line.append(make("span", "tag"), make("span", "what"));
      words.append(line, make("p", "todo"));
      fresh.append(sign, words);
      if (item) item.replaceWith(fresh);
      else list.append(fresh);
      item = fresh;
    }
    mark(item, "level", one.level);
    say(item.querySelector(".tag"), withMirror ? one.mirror : "");
    tell(item.querySelector(".what"), one.what);
    tell(item.querySelector(".todo"), one.todo);
  });
}
