// All changes to the document. Data is inserted as text, never as markup.

export function find(id) {
  return document.getElementById(id);
}

export function setText(node, text) {
  // Only if it differs: a selection survives the refresh.
  if (node.textContent !== text) node.textContent = text;
}

export function setTextWithCode(node, text) {
  // Text between backticks is shown as code.
  const parts = text.split("`");
  if (node.textContent === parts.join("")) return;
  node.replaceChildren(...parts.map((part, index) => (index % 2 ? create("code", "", part) : part)));
}

export function setData(node, name, value) {
  if (node.dataset[name] !== value) node.dataset[name] = value;
}

export function create(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

export function fillTable(body, items, columns, finish = () => {}) {
  // One row per item; rows are reused. A column is {text or draw, className, header, title, label}.
  while (body.rows.length > items.length) body.deleteRow(-1);
  items.forEach((item, index) => {
    let row = body.rows[index];
    if (!row || row.cells.length !== columns.length) {
      if (row) row.remove();
      row = body.insertRow(index);
      for (const column of columns) {
        const cell = create(column.header ? "th" : "td", column.className ?? "");
        if (column.header) cell.scope = "row";
        if (column.label) cell.dataset.label = column.label;
        row.append(cell);
      }
    }
    columns.forEach((column, number) => {
      const cell = row.cells[number];
      if (column.draw) column.draw(cell, item);
      else setText(cell, column.text(item));
      if (column.title) cell.title = column.title(item);
    });
    finish(row, item);
  });
}

export function showFindings(list, findings, withMirror) {
  while (list.children.length > findings.length) list.lastElementChild.remove();
  findings.forEach((finding, index) => {
    let item = list.children[index];
    if (!item || !item.querySelector(".todo")) {
      const created = findingItem();
      if (item) item.replaceWith(created);
      else list.append(created);
      item = created;
    }
    setData(item, "level", finding.level);
    setText(item.querySelector(".tag"), withMirror ? finding.mirror : "");
    setTextWithCode(item.querySelector(".what"), finding.what);
    setTextWithCode(item.querySelector(".todo"), finding.todo);
  });
}

function findingItem() {
  const item = create("li");
  const icon = create("span", "icon");
  icon.setAttribute("aria-hidden", "true");
  const text = create("div");
  const line = create("p");
  line.append(create("span", "tag"), create("span", "what"));
  text.append(line, create("p", "todo"));
  item.append(icon, text);
  return item;
}
