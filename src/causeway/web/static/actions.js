// Pause, resume, verify, and moves to another node of a pool. The token is entered once, and kept by this tab only.

import { ApiError, get, mirrorPath, post } from "./api.js";
import { find, setData, setText } from "./dom.js";
import { duration } from "./format.js";

const TOKEN = "causeway-token";
const BY = "causeway-by";
const POLL = 1000;
const JOB_TEXT = {
  running: "Comparing both clusters",
  equal: "Both clusters are equal.",
  different: "The clusters differ:",
  failed: "The comparison failed:",
};

export class Actions {
  constructor() {
    this.name = null;
    this.enabled = find("no-token").hidden;
    this.job = null;
    this.dialog = find("token-dialog");
    for (const action of ["pause", "resume", "verify"]) {
      find(action).addEventListener("click", () => this.request(action));
    }
    find("token-cancel").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => (this.pending = null));
    find("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, find("token").value);
      sessionStorage.setItem(BY, find("by").value);
      find("token").value = "";
      const { action, more } = this.pending;
      this.dialog.close();
      this.request(action, more);
    });
  }

  show(mirror) {
    if (this.name !== mirror.name) {
      this.name = mirror.name;
      this.showJob(null);
    }
    find("pause").disabled = !this.enabled || !["starting", "running", "waiting"].includes(mirror.state);
    find("resume").disabled = !this.enabled || mirror.state !== "paused";
    find("verify").disabled = !this.enabled || this.job?.state === "running";
  }

  async request(action, more = {}) {
    const token = sessionStorage.getItem(TOKEN);
    if (!token) {
      this.askForToken(action, more, "");
      return;
    }
    try {
      const by = sessionStorage.getItem(BY) ?? "";
      const accepted = await post(mirrorPath(this.name, action), token, { by, ...more });
      if (action === "verify") this.follow(accepted.job, this.name);
    } catch (error) {
      if (error instanceof ApiError && [401, 403].includes(error.code)) {
        sessionStorage.removeItem(TOKEN);
        this.askForToken(action, more, error.message);
      } else {
        this.showJob({ state: "failed", lines: [] }, `${action} failed: ${error.message}`);
      }
    }
  }

  askForToken(action, more, problem) {
    this.pending = { action, more };
    setText(find("token-error"), problem);
    find("by").value = sessionStorage.getItem(BY) ?? "";
    this.dialog.showModal();
    find("token").focus();
  }

  async follow(id, name) {
    const started = Date.now();
    const poll = async () => {
      if (this.name !== name) return;
      try {
        const job = await get(`jobs/${encodeURIComponent(id)}`);
        const soFar = job.state === "running" ? `, for ${duration((Date.now() - started) / 1000)} …` : "";
        this.showJob(job, JOB_TEXT[job.state] + soFar);
        if (job.state === "running") setTimeout(poll, POLL);
      } catch (error) {
        // Retry while the server is unreachable; a restarted server does not know the job.
        if (error instanceof ApiError) this.showJob({ state: "failed", lines: [] }, error.message);
        else setTimeout(poll, POLL);
      }
    };
    await poll();
  }

  showJob(job, text = "") {
    this.job = job;
    find("job").hidden = job === null;
    if (job === null) return;
    setData(find("job"), "state", job.state);
    setText(find("job-text"), text);
    setText(find("job-lines"), job.lines.join("\n"));
  }
}
