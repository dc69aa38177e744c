// From the stream to the page.

import { Detail } from "./detail.js";
import { find, mark, say } from "./dom.js";
import { time } from "./format.js";
import { alone, chosen, overview } from "./overview.js";
import { watch } from "./stream.js";

const detail = new Detail();
let latest = null;
let wanted = "";
let state = "opening";

function selected(moment) {
  // By the address, so that it can be kept and sent; otherwise the first.
  if (location.hash.startsWith("#/")) wanted = decoded(location.hash.slice(2));
  return moment.mirrors.find((one) => one.name === wanted) ?? moment.mirrors[0] ?? null;
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
  overview(latest, mirror?.name);
  if (state === "lost") alone(latest);
  if (mirror) detail.show(mirror, latest);
  else detail.hide();
}

function linked(now) {
  if (now === state) return;
  if (now === "live" && state === "lost") detail.reload();
  state = now;
  mark(find("link"), "state", state);
  document.body.classList.toggle("old", state === "lost");
  if (state === "lost") alone(latest);
  say(find("link"), state === "lost" ? `connection lost at ${time(Date.now(), Date.now())}, trying again` : state);
}

watch(
  (moment) => {
    latest = moment;
    draw();
  },
  (now) => linked(now),
);
addEventListener("hashchange", () => {
  draw();
  // On a phone it is below the others, out of sight.
  if (matchMedia("(max-width: 700px)").matches) find("mirror").scrollIntoView();
});
find("glance").addEventListener("click", (event) => {
  const name = chosen(event);
  if (name !== null && !event.target.closest("a")) location.hash = `/${encodeURIComponent(name)}`;
});
