// From the stream to the page.

import { Detail } from "./detail.js";
import { find, mark, say } from "./dom.js";
import { alone, chosen, overview } from "./overview.js";
import { watch } from "./stream.js";

const detail = new Detail();
let latest = null;
let wanted = "";
let state = "opening";
let lostAt = 0;

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
  if (mirror) detail.show(mirror, latest);
  else detail.hide();
}

function linked(now) {
  if (now === "lost" && state !== "lost") lostAt = Date.now();
  if (now === "live" && state === "lost") detail.reload();
  state = now;
  mark(find("link"), "state", state);
  document.body.classList.toggle("old", state === "lost");
  const seconds = Math.round((Date.now() - lostAt) / 1000);
  if (state === "lost") alone(latest);
  say(find("link"), state === "lost" ? `connection lost for ${seconds} s, trying again` : state);
}

watch(
  (moment) => {
    latest = moment;
    draw();
  },
  (now) => linked(now),
);
setInterval(() => state === "lost" && linked("lost"), 1000);
addEventListener("hashchange", () => {
  draw();
  // On a phone it is below the others, out of sight.
  if (matchMedia("(max-width: 700px)").matches) find("mirror").scrollIntoView();
});
find("glance").addEventListener("click", (event) => {
  const name = chosen(event);
  if (name !== null && !event.target.closest("a")) location.hash = `/${encodeURIComponent(name)}`;
});
