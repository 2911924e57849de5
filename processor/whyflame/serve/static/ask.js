// Questions to the server: one place for errors, tokens and downloads.

const TOKEN = "whyflame-token";

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
  get isNothing() {
    return this.status === 404;
  }
}

async function send(path, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const answer = await fetch(path, { signal, headers: token ? { Authorization: `Bearer ${token}` } : {} });
  if (answer.ok) return answer;
  const text = await answer.text();
  let message = text;
  try {
    message = JSON.parse(text).error;
  } catch {
    /* not ours */
  }
  if (answer.status === 401) askForToken();
  throw new Refused(message || `the server answered ${answer.status}`, answer.status);
}

export const ask = async (path, signal) => (await send(path, signal)).json();

export async function download(path, name) {
  const content = await (await send(path)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function askForToken() {
  if (document.querySelector("dialog.token")) return;
  const dialog = document.createElement("dialog");
  dialog.className = "token";
  const form = document.createElement("form");
  form.method = "dialog";
  const label = document.createElement("label");
  label.textContent = "This server asks for a bearer token";
  const input = document.createElement("input");
  input.type = "password";
  input.autocomplete = "off";
  label.append(input);
  const button = document.createElement("button");
  button.className = "primary";
  button.textContent = "Continue";
  form.append(label, button);
  dialog.append(form);
  dialog.addEventListener("close", () => {
    if (input.value) {
      sessionStorage.setItem(TOKEN, input.value.trim());
      location.reload();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

function parameters(state, names) {
  const query = new URLSearchParams();
  for (const name of names) {
    const value = state[name];
    if (Array.isArray(value)) {
      if (name === "stack") {
        if (value.length) query.set(name, value.join(","));
      } else for (const item of value) query.append(name, item);
    } else if (value) query.set(name, value);
  }
  return query;
}

const FILTER = ["where", "since", "until"];
const PROFILE = ["view", "measure", "stack", "waits", ...FILTER];
const DIFF = [
  ...PROFILE,
  "base",
  "target",
  "base_since",
  "base_until",
  "target_since",
  "target_until",
  "per",
  "pair_by",
];

export const filterQuery = (state) => parameters(state, FILTER);
export const profilePath = (state, format) =>
  `/api/v1/profile?${parameters(state, PROFILE)}&format=${format}`;
export const diffPath = (state, format) => `/api/v1/diff?${parameters(state, DIFF)}&format=${format}`;

export function behindPath(state, extra) {
  const query = parameters(state, PROFILE);
  for (const [name, value] of Object.entries(extra))
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, item);
  return `/api/v1/behind?${query}`;
}

// Asks again only when the question changed; an answer that was overtaken is dropped.
export class Latest {
  #key = null;
  #abort = null;
  #answer = null;

  async ask(path, { again = false } = {}) {
    if (!again && path === this.#key && this.#answer) return this.#answer;
    this.#abort?.abort();
    const abort = (this.#abort = new AbortController());
    this.#key = path;
    this.#answer = ask(path, abort.signal);
    this.#answer.catch(() => {
      if (this.#key === path) this.#key = null;
    });
    return this.#answer;
  }
}
