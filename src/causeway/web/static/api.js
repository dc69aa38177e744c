// Requests to the API of the server that the page was loaded from, with the token once it was entered.

import { storedToken } from "./token.js";

export class ApiError extends Error {
  constructor(code, apiError) {
    super(apiError.todo ? `${apiError.error} (do: ${apiError.todo})` : apiError.error);
    this.code = code;
  }

  get needsToken() {
    return [401, 403].includes(this.code);
  }
}

export function mirrorPath(name, part = "") {
  return `mirrors/${encodeURIComponent(name)}${part ? `/${part}` : ""}`;
}

export async function get(path, options = {}) {
  return (await request(path, options)).json();
}

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await request(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

export async function request(path, options) {
  const token = storedToken();
  const headers = { ...options.headers, ...(token && { Authorization: `Bearer ${encoded(token)}` }) };
  const response = await fetch(`api/v1/${path}`, { cache: "no-store", ...options, headers });
  if (!response.ok) throw new ApiError(response.status, await response.json());
  return response;
}

function encoded(token) {
  // A header's characters are bytes: these are the token's in UTF-8.
  return String.fromCharCode(...new TextEncoder().encode(token));
}
