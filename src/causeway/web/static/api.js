// The API, from where the page was loaded.

export class Refused extends Error {
  constructor(code, answer) {
    super(answer.todo ? `${answer.error} (do: ${answer.todo})` : answer.error);
    this.code = code;
  }
}

export function of(mirror, part = "") {
  return `mirrors/${encodeURIComponent(mirror)}${part ? `/${part}` : ""}`;
}

export function get(path, options = {}) {
  return ask(path, options);
}

export function post(path, token, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function ask(path, options) {
  const response = await fetch(`api/v1/${path}`, { cache: "no-store", ...options });
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}
