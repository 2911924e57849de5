// The question bar: width, view, time range, stack and filters of everything below it.

import { diffPath, download, filterQuery, profilePath } from "./ask.js";
import { h, select } from "./dom.js";
import { Filters } from "./filters.js";
import { noun } from "./format.js";
import { StackEditor } from "./stack.js";
import { go, state } from "./state.js";

const WIDTHS = [
  ["tokens", "Tokens"],
  ["cost", "Cost"],
  ["duration", "Time"],
  ["operations", "Operations"],
  ["errors", "Errors"],
];
const PARTS = [
  "input_uncached",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_visible",
  "reasoning_tokens",
];
const OTHERS = ["input_tokens", "output_tokens", "input_bytes", "output_bytes"];
const RANGES = [
  ["", "All time"],
  ["15m", "Last 15 minutes"],
  ["1h", "Last hour"],
  ["6h", "Last 6 hours"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];
const FILES = [
  ["pprof", "pprof", ".pb.gz"],
  ["svg", "SVG", ".svg"],
  ["folded", "Folded stacks", ".folded"],
  ["speedscope", "speedscope", ".speedscope.json"],
  ["json", "JSON", ".json"],
];
const DIFF_FILES = [
  ["pprof", "pprof", ".pb.gz"],
  ["svg", "SVG", ".svg"],
  ["table", "Table", ".txt"],
  ["json", "JSON", ".json"],
];

export const viewOf = (options, now) =>
  options.views.find((view) => view.name === now.view) || options.views[0];
export const measureOf = (options, now) => now.measure || viewOf(options, now).measure;
export const stackOf = (options, now) => (now.stack.length ? now.stack : viewOf(options, now).stack);
const waitsOf = (options, now) => (now.waits ? now.waits === "true" : viewOf(options, now).waits);
export const unitOf = (options, name) => options.measures.find((item) => item.name === name)?.unit || "count";

// `since` and `until` of one side or of the whole question.
export class TimeRange {
  constructor({ label, change }) {
    Object.assign(this, { label, change, isOpen: false });
    this.element = h("div", { class: "range", role: "group", "aria-label": label });
  }

  show(since, until) {
    const isOwn = this.isOpen || Boolean(until) || (since && !RANGES.some(([value]) => value === since));
    this.element.replaceChildren(
      select(this.label, [...RANGES, ["own", "From … to …"]], isOwn ? "own" : since, (value) => {
        this.isOpen = value === "own";
        if (this.isOpen) this.show(since, until);
        else this.change(value, "");
      }),
    );
    if (!isOwn) return;
    const field = (label, value, take) =>
      h("input", {
        type: "text",
        class: "moment",
        "aria-label": `${label} (UTC, or how long ago)`,
        placeholder: `${label}: 2026-11-30T12:00`,
        value: value || "",
        onchange: (event) => take(event.target.value.trim()),
      });
    this.element.append(
      field("from", since, (value) => this.change(value, until)),
      field("to", until, (value) => this.change(since, value)),
    );
  }
}

export class QuestionBar {
  constructor(options) {
    this.options = options;
    this.widths = h("div", { class: "segments", role: "group", "aria-label": "Width" });
    this.parts = h("span");
    this.waits = h("span", { class: "segments" });
    this.views = h("span");
    this.range = new TimeRange({ label: "Time range", change: (since, until) => go({ since, until }) });
    this.stack = new StackEditor({
      fields: options.fields,
      change: (stack) => go({ stack: String(stack) === String(viewOf(options, state()).stack) ? [] : stack }),
    });
    this.filters = new Filters({
      label: "Filters",
      fields: options.fields,
      change: (where) => go({ where }),
      context: () => filterQuery({ ...state(), where: [] }),
    });
    this.files = h(
      "details",
      {
        class: "menu",
        onkeydown: (event) => {
          if (event.key === "Escape") this.files.open = false;
        },
      },
      h("summary", { class: "button" }, "Download"),
      h("div", { class: "menu-items" }),
    );
    document.addEventListener("click", (event) => {
      if (!this.files.contains(event.target)) this.files.open = false;
    });
    this.first = h(
      "div",
      { class: "line" },
      label("Width", this.widths, this.parts, this.waits),
      label("View", this.views),
      label("Time", this.range.element),
      h("span", { class: "push" }, this.files),
    );
    this.second = h(
      "div",
      { class: "line" },
      label("Stack", this.stack.element),
      label("Where", this.filters.element),
    );
    this.element = h("div", {}, this.first, this.second);
  }

  show(now) {
    const { options } = this,
      view = viewOf(options, now),
      measure = measureOf(options, now);
    const isProfile = now.page === "flame" || now.page === "compare";
    this.element.classList.toggle("filters-only", !isProfile);
    const isPart = PARTS.includes(measure) || OTHERS.slice(0, 2).includes(measure);
    const choose = (name) => go({ measure: name === view.measure ? "" : name });
    keepFocus(this.widths, () =>
      WIDTHS.map(([name, text]) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(name === measure || (name === "tokens" && isPart)),
            onclick: () => choose(name),
          },
          text,
        ),
      ),
    );
    const parts = [
      ["tokens", "all parts"],
      ...PARTS.map((name) => [name, noun(name)]),
      ...OTHERS.map((name) => [name, noun(name)]),
    ];
    const inParts = parts.some(([name]) => name === measure);
    this.parts.replaceChildren(
      select(
        "Part of the tokens",
        inParts ? parts : [["", "parts…"], ...parts],
        inParts ? measure : "",
        (name) => name && choose(name),
        { class: "quiet" },
      ),
    );
    this.#showWaits(now, measure === "duration");
    this.views.replaceChildren(
      select(
        "View",
        options.views.map((item) => [item.name, item.name]),
        now.view,
        (name) => go({ view: name, measure: "", stack: [], waits: "" }),
      ),
    );
    this.range.show(now.since, now.until);
    this.stack.show(stackOf(options, now));
    this.filters.show(now.where, isProfile ? view.where : []);
    this.#showFiles(now);
  }

  // Waiting has time and nothing else: with another width there is nothing to see.
  #showWaits(now, isTime) {
    const isOn = waitsOf(this.options, now),
      isUsual = viewOf(this.options, now).waits;
    this.waits.hidden = !isTime;
    keepFocus(this.waits, () => [
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(isOn),
          title: "Show how long agents waited for the user between turns",
          onclick: () => go({ waits: isOn === isUsual ? String(!isOn) : "" }),
        },
        "Waiting",
      ),
    ]);
  }

  #showFiles(now) {
    const isDiff = now.page === "compare",
      files = isDiff ? DIFF_FILES : FILES,
      path = isDiff ? diffPath : profilePath;
    this.files.hidden =
      now.page !== "flame" &&
      !(isDiff && (now.base.length || now.base_since) && (now.target.length || now.target_since));
    this.files.querySelector(".menu-items").replaceChildren(
      ...files.map(([format, text, ending]) =>
        h(
          "button",
          {
            type: "button",
            onclick: async (event) => {
              const button = event.currentTarget;
              button.disabled = true;
              try {
                await download(
                  path(state(), format),
                  `whyflame-${isDiff ? "diff-" : ""}${state().view}${ending}`,
                );
              } finally {
                button.disabled = false;
              }
              this.files.open = false;
            },
          },
          text,
          h("small", {}, ending),
        ),
      ),
    );
  }
}

const label = (text, ...content) =>
  h(
    "div",
    { class: `asked asked-${text.toLowerCase()}` },
    h("span", { class: "asked-name", "aria-hidden": "true" }, text),
    ...content,
  );

// New buttons, and the focus stays on the one at the same place.
function keepFocus(element, make) {
  const at = [...element.children].indexOf(document.activeElement);
  element.replaceChildren(...make());
  if (at >= 0) element.children[at]?.focus();
}
