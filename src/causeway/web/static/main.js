// Entry point: from the stream to the page.

import { find, setData, setText } from "./dom.js";
import { time } from "./format.js";
import { MirrorSection } from "./mirror.js";
import { clickedMirror, showDisconnected, showOverview } from "./overview.js";
import { connect } from "./stream.js";
import { listenToDialog } from "./token.js";

const section = new MirrorSection();
let latest = null;
let wanted = "";
let connection = "connecting";

function selected(status) {
  // By the fragment of the address, so that it can be bookmarked; otherwise the first mirror.
  if (location.hash.startsWith("#/")) wanted = decoded(location.hash.slice(2));
  return status.mirrors.find((mirror) => mirror.name === wanted) ?? status.mirrors[0] ?? null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

function draw() {
  if (!latest) return;
  const mirror = selected(latest);
  showOverview(latest, mirror?.name);
  if (connection === "lost") showDisconnected(latest);
  if (mirror) section.show(mirror, latest);
  else section.hide();
}

function setConnection(state) {
  if (state === connection) return;
  if (state === "live" && connection === "lost") section.reload();
  connection = state;
  setData(find("connection"), "state", connection);
  document.body.classList.toggle("stale", connection === "lost");
  if (connection === "lost") showDisconnected(latest);
  const now = Date.now();
  setText(find("connection"), connection === "lost" ? `connection lost at ${time(now, now)}, retrying` : connection);
}

listenToDialog();
connect(
  (status) => {
    latest = status;
    draw();
  },
  (state) => setConnection(state),
);
addEventListener("hashchange", () => {
  draw();
  // On a phone it is below the table of mirrors, out of sight.
  if (matchMedia("(max-width: 700px)").matches) find("mirror").scrollIntoView();
});
find("mirrors").addEventListener("click", (event) => {
  const name = clickedMirror(event);
  if (name !== null && !event.target.closest("a")) location.hash = `/${encodeURIComponent(name)}`;
});
