// What the page shows is what its address says: every state is a permalink.

const LISTS = ["stack", "where", "base", "target", "frame"];
const TEXTS = [
  "page",
  "view",
  "measure",
  "waits",
  "since",
  "until",
  "sandwich",
  "q",
  "sort",
  "session",
  "base_since",
  "base_until",
  "target_since",
  "target_until",
  "per",
  "pair_by",
  "live",
];
// These change what the server is asked; a new answer makes an old zoom meaningless.
const QUESTION = ["view", "measure", "stack", "waits", "where", "since", "until"];

const watchers = [];
let current = read();

function read() {
  const query = new URLSearchParams(location.search),
    found = {};
  for (const name of LISTS) found[name] = query.getAll(name);
  found.stack = found.stack.flatMap((text) => text.split(",")).filter(Boolean);
  for (const name of TEXTS) found[name] = query.get(name) || "";
  found.page ||= "flame";
  found.view ||= "tokens";
  return found;
}

export function address(state) {
  const query = new URLSearchParams();
  for (const name of TEXTS) {
    const value = state[name];
    if (value && !(name === "page" && value === "flame") && !(name === "view" && value === "tokens"))
      query.set(name, value);
  }
  for (const name of LISTS) {
    if (name === "stack") {
      if (state.stack.length) query.set("stack", state.stack.join(","));
    } else for (const value of state[name]) query.append(name, value);
  }
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3D", "=");
  return location.pathname + (text ? "?" + text : "");
}

export const state = () => current;
export const watch = (watcher) => watchers.push(watcher);
export const linkTo = (changes) => address({ ...current, ...changes });

export function go(changes, { replace = false } = {}) {
  const before = current;
  current = { ...current, ...changes };
  const asksAnew = QUESTION.some((name) => name in changes && String(before[name]) !== String(changes[name]));
  if (asksAnew && !("frame" in changes) && "stack" in changes)
    Object.assign(current, { frame: [], sandwich: "" });
  const target = address(current);
  if (target !== location.pathname + location.search)
    history[replace ? "replaceState" : "pushState"](null, "", target);
  for (const watcher of watchers) watcher(current, before);
}

addEventListener("popstate", () => {
  const before = current;
  current = read();
  for (const watcher of watchers) watcher(current, before);
});

// Links inside the page change the state without loading it again.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='/?'], a[href='/']");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || link.target) return;
  event.preventDefault();
  const before = current;
  history.pushState(null, "", link.getAttribute("href"));
  current = read();
  for (const watcher of watchers) watcher(current, before);
  scrollTo(0, 0);
});
