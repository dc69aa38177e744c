// Requests to the API of the server that the page was loaded from.

export class ApiError extends Error {
  constructor(code, apiError) {
    super(apiError.todo ? `${apiError.error} (do: ${apiError.todo})` : apiError.error);
    this.code = code;
  }
}

export function mirrorPath(name, part = "") {
  return `mirrors/${encodeURIComponent(name)}${part ? `/${part}` : ""}`;
}

export function get(path, options = {}) {
  return request(path, options);
}

export function post(path, token, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request(path, options) {
  const response = await fetch(`api/v1/${path}`, { cache: "no-store", ...options });
  const content = await response.json();
  if (!response.ok) throw new ApiError(response.status, content);
  return content;
}
