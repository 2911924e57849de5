// One session: its lanes over time, and in each the intervals and steps in order.

import { Latest, behindPath } from "./ask.js";
import { empty, h } from "./dom.js";
import { brief, duration, figure, money, moment, plural } from "./format.js";
import { Lanes, colourOf, learnColours } from "./lanes.js";
import { outcome } from "./sessions.js";
import { linkTo } from "./state.js";

export class SessionView {
  constructor(options) {
    this.options = options;
    this.latest = new Latest();
    this.marks = new Latest();
    this.place = h("div");
    this.element = h("div", { class: "page session" }, this.place);
    this.lanes = [];
  }

  async show(now, { again }) {
    const session = await this.latest.ask(`/api/v1/sessions/${encodeURIComponent(now.session)}`, { again });
    learnColours(session.colours);
    const behind = await this.#behind(now);
    this.lanes = [];
    this.place.replaceChildren(
      this.#head(now, session, behind),
      ...session.runs.map((run) => this.#run(run, behind, session.runs.length === 1)),
    );
    for (const lanes of this.lanes) lanes.draw();
    const marked = this.place.querySelector(".step.behind");
    if (marked && marked.getBoundingClientRect().bottom > innerHeight)
      marked.scrollIntoView({ block: "center" });
  }

  showEmpty() {
    this.place.replaceChildren(
      empty(
        "No such session",
        h("p", {}, "It may have been forgotten by the store's retention."),
        h(
          "p",
          {},
          h("a", { class: "button", href: linkTo({ page: "sessions", session: "" }) }, "All sessions"),
        ),
      ),
    );
  }

  repaint() {
    for (const lanes of this.lanes) lanes.draw();
  }

  // Which steps the chosen frame was summed from.
  async #behind(now) {
    const frame = now.sandwich ? [now.sandwich] : now.frame;
    if (!frame.length) return null;
    try {
      const found = await this.marks.ask(
        behindPath(now, {
          frame,
          session: now.session,
          limit: "100000",
          ...(now.sandwich ? { anywhere: "true" } : {}),
        }),
      );
      const steps = new Map(
        found.rows.map((row) => [`${row.run ?? ""}/${row.lane ?? ""}/${row.step ?? ""}`, row]),
      );
      return { ...found, frame, steps };
    } catch {
      return null;
    }
  }

  #head(now, session, behind) {
    const context = now.sandwich || now.frame.length;
    return h(
      "div",
      { class: "page-head" },
      h(
        "nav",
        { class: "crumbs", "aria-label": "Where" },
        h(
          "ol",
          {},
          h(
            "li",
            {},
            context
              ? h("a", { href: linkTo({ page: "flame", session: "" }) }, "Flame graph")
              : h("a", { href: linkTo({ page: "sessions", session: "" }) }, "Sessions"),
          ),
          h("li", {}, h("span", { "aria-current": "true" }, session.session)),
        ),
      ),
      h("h1", {}, session.session),
      behind
        ? h(
            "p",
            { class: "behind-note" },
            "Marked: what lies behind ",
            h("b", {}, behind.frame.join(" › ")),
            `, ${figure(behind.total, behind.unit)} in ${plural(behind.rows.length, "step")}. `,
            h("a", { href: linkTo({ frame: [], sandwich: "" }) }, "Unmark"),
          )
        : null,
    );
  }

  #run(run, behind, isOnly) {
    const all = run.lanes.flatMap((lane) => lane.operations);
    const sums = sum(all),
      lanes = new Lanes(run, (op, lane) => this.#isBehind(behind, run, lane, op));
    this.lanes.push(lanes);
    const starts = all.map((op) => op.start_ns).filter((ns) => ns !== null);
    return h(
      "section",
      { class: "run", "aria-label": `Run ${run.run}` },
      h(
        "header",
        { class: "run-head" },
        h("h2", {}, run.root || "no goal known"),
        outcome(run.outcome),
        h(
          "dl",
          { class: "inline-facts" },
          [
            ...(isOnly ? [] : [["run", String(run.run)]]),
            ["began", starts.length ? `${moment(starts.reduce((a, b) => (a < b ? a : b)))} UTC` : "unknown"],
            ["tokens", figure(sums.tokens, "count")],
            ["cost", sums.cost === null ? "unknown" : money(sums.cost / 1e9)],
            ["self time", duration(sums.self / 1e9)],
            ["lanes", String(run.lanes.length)],
            ["failed", String(sums.errors)],
          ].map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))),
        ),
      ),
      h("div", { class: "panel lanes-panel" }, lanes.element),
      run.lanes.map((lane) => this.#lane(run, lane, behind)),
    );
  }

  #isBehind(behind, run, lane, op) {
    if (!behind) return null;
    if (!behind.steps.has(`${run.run}/${lane.lane ?? ""}/${op.step ?? ""}`)) return false;
    // Below the step the last frame may name one kind of operation.
    const last = behind.frame.at(-1),
      isName = lane.operations.some((item) => item.name === last);
    return !isName || op.name === last || op.path.includes(last);
  }

  #lane(run, lane, behind) {
    const sums = sum(lane.operations),
      most = Math.max(1, ...lane.operations.map((op) => op.tokens || 0));
    const rows = [];
    let path = [],
      step = null,
      trace = null;
    for (const op of lane.operations) {
      const same = shared(path, op.path);
      for (let level = same; level < op.path.length; level++)
        rows.push(this.#interval(op.path, level, lane, op));
      path = op.path;
      const isFirst = { step: op.step !== step, trace: op.trace_id !== trace };
      rows.push(this.#step(op, isFirst, most, this.#isBehind(behind, run, lane, op)));
      step = op.step;
      trace = op.trace_id;
    }
    return h(
      "details",
      {
        class: "lane",
        open: behind
          ? lane.operations.some((op) => this.#isBehind(behind, run, lane, op))
          : lane.lane === "main" || run.lanes.length < 4,
      },
      h(
        "summary",
        {},
        h("b", {}, lane.lane),
        lane.agent ? ` agent ${lane.agent}` : "",
        h(
          "span",
          { class: "quiet-text" },
          ` ${figure(sums.tokens, "count")} tokens · ${plural(lane.operations.length, "operation")}${sums.errors ? ` · ${sums.errors} failed` : ""}${lane.parent ? ` · below ${lane.parent}, step ${lane.parent_step ?? "?"}` : ""}`,
        ),
      ),
      h(
        "div",
        { class: "step step-titles", "aria-hidden": "true", style: { "--level": "1" } },
        ["step", "operation", "trace", "self time", "tokens"].map((title) => h("span", {}, title)),
      ),
      h("ol", { class: "steps" }, rows),
    );
  }

  #interval(path, level, lane, from) {
    const at = lane.operations.indexOf(from),
      inside = [];
    for (const op of lane.operations.slice(at)) {
      if (shared(path, op.path) <= level) break;
      inside.push(op);
    }
    const sums = sum(inside);
    return h(
      "li",
      {
        class: "interval",
        style: { "--level": String(level), "--swatch": `var(--${colourOf(path[level])})` },
      },
      h("b", {}, path[level]),
      h(
        "span",
        { class: "quiet-text" },
        `${brief(sums.tokens, "count")} tokens · ${duration(sums.self / 1e9)}${sums.errors ? ` · ${sums.errors} failed` : ""}`,
      ),
    );
  }

  #step(op, isFirst, most, isBehind) {
    const links = Object.entries(this.options.trace_links)
      .map(([name, template]) => [name, fillLink(template, op)])
      .filter(([, href]) => href)
      .map(([name, href]) => h("a", { href, target: "_blank", rel: "noreferrer noopener" }, name));
    const failed = op.status === "error";
    return h(
      "li",
      {
        class: `step${isBehind ? " behind" : ""}${isBehind === false ? " aside" : ""}${failed ? " failed" : ""}`,
        style: { "--level": String(op.path.length) },
      },
      h("span", { class: "step-number" }, isFirst.step && op.step !== null ? op.step : ""),
      h(
        "span",
        { class: "step-name" },
        h("i", { class: "swatch", style: { "--swatch": `var(--${colourOf(op.name || op.kind)})` } }),
        op.name || op.kind,
        failed ? h("span", { class: "tag bad" }, op.error_type || "error") : null,
      ),
      h(
        "span",
        { class: "step-links" },
        links.length
          ? links
          : isFirst.trace
            ? h("code", { title: `trace ${op.trace_id}, span ${op.span_id}` }, op.trace_id.slice(0, 8))
            : null,
      ),
      h("span", { class: "number" }, op.self_ns === null ? "" : duration(op.self_ns / 1e9)),
      h(
        "span",
        {
          class: "number share",
          style: { "--share": String((op.tokens || 0) / most) },
          title: op.tokens === null ? null : `${figure(op.tokens, "count")} tokens`,
        },
        op.tokens === null ? "" : figure(op.tokens, "count"),
      ),
    );
  }
}

// Only web addresses: a template in the configuration cannot make a script of an id.
function fillLink(template, op) {
  const text = template
    .replaceAll("{trace_id}", op.trace_id)
    .replaceAll("{span_id}", op.span_id)
    .replaceAll("{session}", encodeURIComponent(new URLSearchParams(location.search).get("session") || ""));
  return /^https?:\/\//.test(text) ? text : null;
}

function shared(a, b) {
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return same;
}

export function sum(operations) {
  const known = (name) => operations.filter((op) => op[name] !== null);
  const add = (name) => (known(name).length ? known(name).reduce((total, op) => total + op[name], 0) : null);
  return {
    tokens: add("tokens"),
    cost: add("cost_nanousd"),
    self: add("self_ns") || 0,
    errors: add("errors") || 0,
  };
}
