// Starts the page: what can be asked, the question bar, and the part that the address names.

import { Refused, ask, filterQuery } from "./ask.js";
import { Compare } from "./compare.js";
import { Coverage } from "./coverage.js";
import { empty, h, announce } from "./dom.js";
import { Explore } from "./explore.js";
import { QuestionBar } from "./question.js";
import { SessionView } from "./session.js";
import { Sessions } from "./sessions.js";
import { go, linkTo, state, watch } from "./state.js";

const LIVE_SECONDS = 5;
const PAGES = [
  ["flame", "Flame graph"],
  ["compare", "Compare"],
  ["sessions", "Sessions"],
  ["coverage", "Coverage"],
];
const main = document.getElementById("main"),
  problem = document.querySelector(".problem");
const bar = document.querySelector(".question");
let part = null,
  shown = "",
  busy = 0,
  seen = "";

const themes = matchMedia("(prefers-color-scheme: dark)");
const theme = () => document.documentElement.dataset.theme || (themes.matches ? "dark" : "light");

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("whyflame-theme", name);
  repaint();
}

function repaint() {
  document
    .querySelector(".theme")
    ?.setAttribute("aria-label", `Switch to the ${theme() === "dark" ? "light" : "dark"} theme`);
  part?.repaint?.();
}

const stored = localStorage.getItem("whyflame-theme");
if (stored) document.documentElement.dataset.theme = stored;
themes.addEventListener("change", repaint);

function showPages({ page }) {
  const here = page === "session" ? "sessions" : page;
  document.querySelector(".pages").replaceChildren(
    ...PAGES.map(([name, label]) =>
      h(
        "a",
        {
          href: linkTo({
            page: name,
            session: "",
            ...(name === "sessions" ? { frame: [], sandwich: "" } : {}),
          }),
          "aria-current": name === here ? "page" : null,
        },
        label,
      ),
    ),
  );
  const title = PAGES.find(([name]) => name === here)?.[1] || "whyflame";
  document.title = `${title} · whyflame`;
}

function showTools() {
  document.querySelector(".top-tools").replaceChildren(
    h(
      "button",
      {
        type: "button",
        class: "live",
        "aria-pressed": String(state().live === "1"),
        title: "Ask again whenever something new has settled",
        onclick: () => go({ live: state().live ? "" : "1" }, { replace: true }),
      },
      h("i", { class: "dot" }),
      "Live",
    ),
    h(
      "button",
      {
        type: "button",
        class: "theme icon",
        title: "Theme",
        onclick: () => setTheme(theme() === "dark" ? "light" : "dark"),
      },
      "◐",
    ),
  );
  repaint();
}

function makePart(page, options) {
  const made =
    { flame: Explore, compare: Compare, sessions: Sessions, session: SessionView, coverage: Coverage }[
      page
    ] || Explore;
  return new made(options);
}

async function show(now, before, options, question, again = false) {
  showPages(now);
  question.show(now);
  if (before && before.live !== now.live) showTools();
  if (shown !== now.page) {
    part?.leave?.();
    part = makePart(now.page, options);
    shown = now.page;
    main.replaceChildren(part.element);
    bar.hidden = now.page === "session";
  }
  const mine = part;
  busy++;
  main.setAttribute("aria-busy", "true");
  try {
    await mine.show(now, { again });
    problem.hidden = true;
  } catch (error) {
    if (error.name === "AbortError" || mine !== part) return;
    await explain(error, mine, now);
  } finally {
    busy--;
    if (!busy) main.removeAttribute("aria-busy");
  }
}

async function explain(error, mine, now) {
  if (error instanceof Refused && error.isNothing) {
    problem.hidden = true;
    mine.showEmpty(await nothing(now, error));
    return;
  }
  problem.replaceChildren(
    h("strong", {}, error instanceof Refused ? "The question was refused. " : "The server does not answer. "),
    error.message,
  );
  problem.hidden = false;
  // Frames around nothing would look like an answer.
  if (!main.querySelector(".flame[data-drawn], td, .step"))
    mine.place.replaceChildren(empty("No answer", h("p", {}, "The line above says why.")));
}

// An empty answer says what to do next.
async function nothing(now, error) {
  const status = await ask("/api/v1/status").catch(() => ({ operations: 0 }));
  const isFiltered = now.where.length || now.since || now.until || now.base.length || now.target.length;
  if (status.operations && isFiltered)
    return empty(
      "Nothing matches",
      h(
        "p",
        {},
        `${status.operations.toLocaleString("en-US")} operations are in the store, none of them passes these filters.`,
      ),
      h(
        "p",
        {},
        h(
          "a",
          {
            class: "button",
            href: linkTo({ where: [], since: "", until: "", frame: [], sandwich: "", base: [], target: [] }),
          },
          "Remove all filters",
        ),
      ),
    );
  if (status.operations)
    return empty(
      "Nothing of this kind yet",
      h("p", {}, error.message),
      h(
        "p",
        {},
        h(
          "a",
          {
            class: "button",
            href: linkTo({ view: "tokens", measure: "", stack: [], frame: [], sandwich: "" }),
          },
          "Show where the tokens went",
        ),
      ),
    );
  return empty(
    "Waiting for the first agent run",
    h(
      "p",
      {},
      "A run appears here when it has been quiet for half a minute",
      status.unsettled_traces ? `; ${status.unsettled_traces} are being received now.` : ".",
    ),
    h("p", {}, "Point the OTLP exporter of an instrumented agent at this collector:"),
    h(
      "pre",
      { tabindex: "0" },
      senderSettings(status.otlp),
    ),
    h("p", {}, "or look at recorded agents: ", h("code", {}, "whyflame demo")),
    h("p", { class: "quiet-text" }, "This page looks again by itself."),
  );
}

// The receiver's own port, seen from where this page is seen.
function senderSettings(otlp) {
  const port = /\d+$/.exec(otlp?.grpc || "")?.[0] || "4317";
  return [
    `OTEL_EXPORTER_OTLP_ENDPOINT=${otlp?.tls ? "https" : "http"}://${location.hostname}:${port}`,
    "OTEL_EXPORTER_OTLP_PROTOCOL=grpc",
    ...(otlp?.token ? ['OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer TOKEN"'] : []),
  ].join("\n");
}

async function look(options, question) {
  const now = state(),
    waiting = main.querySelector(".empty");
  if (document.hidden || busy || (now.live !== "1" && !waiting)) return;
  const status = await ask("/api/v1/status").catch(() => null);
  // Work may be named anew without any operation more.
  const key = status && `${status.operations}-${status.newest_ns}-${status.generation}`;
  if (key && key !== seen) {
    seen = key;
    await show(state(), null, options, question, true);
    announce("Refreshed");
  }
}

async function start() {
  showTools();
  showPages(state());
  let options;
  try {
    options = await ask("/api/v1/options");
  } catch (error) {
    problem.replaceChildren(h("strong", {}, "The server does not answer. "), error.message);
    problem.hidden = false;
    return;
  }
  const question = new QuestionBar(options, (now) => filterQuery(now));
  bar.replaceChildren(question.element);
  watch((now, before) => show(now, before, options, question));
  await show(state(), null, options, question);
  setInterval(() => look(options, question), LIVE_SECONDS * 1000);
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea, select, dialog")) return;
  const search = document.querySelector("input[type=search]");
  if (search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

start();
