// Pause, resume, verify. The token is typed once, and kept by this tab alone.

import { get, of, post, Refused } from "./api.js";
import { find, mark, say } from "./dom.js";
import { span } from "./format.js";

const TOKEN = "causeway-token";
const BY = "causeway-by";
const EVERY = 1000;
const WORDS = {
  running: "Comparing both sides",
  equal: "Both sides are equal.",
  different: "Both sides differ:",
  failed: "The comparison failed:",
};

export class Actions {
  constructor() {
    this.name = null;
    this.able = find("refusal").hidden;
    this.job = null;
    this.dialog = find("token-dialog");
    for (const what of ["pause", "resume", "verify"]) {
      find(what).addEventListener("click", () => this.ask(what));
    }
    find("token-cancel").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => (this.wanted = null));
    find("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, find("token").value);
      sessionStorage.setItem(BY, find("by").value);
      find("token").value = "";
      const wanted = this.wanted;
      this.dialog.close();
      this.ask(wanted);
    });
  }

  show(mirror) {
    if (this.name !== mirror.name) {
      this.name = mirror.name;
      this.watched(null);
    }
    find("pause").disabled = !this.able || !["starting", "running", "waiting"].includes(mirror.state);
    find("resume").disabled = !this.able || mirror.state !== "paused";
    find("verify").disabled = !this.able || this.job?.state === "running";
  }

  async ask(what) {
    const token = sessionStorage.getItem(TOKEN);
    if (!token) {
      this.open(what, "");
      return;
    }
    try {
      const answer = await post(of(this.name, what), token, { by: sessionStorage.getItem(BY) ?? "" });
      if (what === "verify") this.follow(answer.job, this.name);
    } catch (error) {
      if (error instanceof Refused && [401, 403].includes(error.code)) {
        sessionStorage.removeItem(TOKEN);
        this.open(what, error.message);
      } else {
        this.watched({ state: "failed", words: `This could not be done: ${error.message}`, lines: [] });
      }
    }
  }

  open(what, wrong) {
    this.wanted = what;
    say(find("token-wrong"), wrong);
    find("by").value = sessionStorage.getItem(BY) ?? "";
    this.dialog.showModal();
    find("token").focus();
  }

  async follow(id, name) {
    const began = Date.now();
    const next = async () => {
      if (this.name !== name) return;
      try {
        const job = await get(`jobs/${encodeURIComponent(id)}`);
        const soFar = job.state === "running" ? `, for ${span((Date.now() - began) / 1000)} …` : "";
        this.watched({ ...job, words: WORDS[job.state] + soFar });
        if (job.state === "running") setTimeout(next, EVERY);
      } catch (error) {
        // A server that is away for a moment has not forgotten the job; one that was started again has.
        if (error instanceof Refused) this.watched({ state: "failed", words: error.message, lines: [] });
        else setTimeout(next, EVERY);
      }
    };
    await next();
  }

  watched(job) {
    this.job = job;
    find("job").hidden = job === null;
    if (job === null) return;
    mark(find("job"), "state", job.state);
    say(find("job-words"), job.words);
    say(find("job-lines"), job.lines.join("\n"));
  }
}
