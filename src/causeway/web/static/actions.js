// Pause, resume, verify, and moves to another node of a pool.

import { ApiError, get, mirrorPath, post } from "./api.js";
import { find, setData, setText } from "./dom.js";
import { duration } from "./format.js";
import { askForToken, forgetToken, storedName, storedToken } from "./token.js";

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
    for (const action of ["pause", "resume", "verify"]) {
      find(action).addEventListener("click", () => this.request(action));
    }
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
    if (!storedToken() && !(await askForToken(""))) return;
    try {
      const accepted = await post(mirrorPath(this.name, action), { by: storedName(), ...more });
      if (action === "verify") this.follow(accepted.job, this.name);
    } catch (error) {
      if (error instanceof ApiError && error.needsToken) {
        forgetToken();
        if (await askForToken(error.message)) this.request(action, more);
      } else {
        this.showJob({ state: "failed", lines: [] }, `${action} failed: ${error.message}`);
      }
    }
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
