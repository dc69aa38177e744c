// The token is entered once, and kept by this tab only.

import { find, setText } from "./dom.js";

const TOKEN = "causeway-token";
const BY = "causeway-by";

export function storedToken() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

export function storedName() {
  return sessionStorage.getItem(BY) ?? "";
}

export function forgetToken() {
  sessionStorage.removeItem(TOKEN);
}

export function askForToken(problem) {
  // Resolves to whether a token was entered.
  const dialog = find("token-dialog");
  setText(find("token-error"), problem);
  find("by").value = storedName();
  if (!dialog.open) dialog.showModal();
  find("token").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "entered"), { once: true });
  });
}

export function listenToDialog() {
  const dialog = find("token-dialog");
  find("token-cancel").addEventListener("click", () => dialog.close(""));
  dialog.addEventListener("cancel", () => (dialog.returnValue = ""));
  find("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, find("token").value);
    sessionStorage.setItem(BY, find("by").value);
    find("token").value = "";
    dialog.close("entered");
  });
}
