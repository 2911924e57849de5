// Two filters or time ranges, side by side: what changed, and what of it may be noise.

import { Latest, ask, diffPath, filterQuery } from "./ask.js";
import { empty, h, select } from "./dom.js";
import { Filters } from "./filters.js";
import { Flame } from "./flame.js";
import { brief, figure, noun, plural, signed } from "./format.js";
import { GraphPanel, trailTo } from "./graph.js";
import { TimeRange } from "./question.js";
import { go, linkTo, state } from "./state.js";
import { SortedTable } from "./table.js";
import { Tree } from "./tree.js";

const SIDES = [
  ["base", "Base"],
  ["target", "Target"],
];

export class Compare {
  constructor(options) {
    this.options = options;
    this.latest = new Latest();
    this.sides = SIDES.map(([name, title]) => this.#side(name, title));
    this.unit = h("span");
    this.pair = h("span");
    this.flame = new Flame({
      label: "What changed",
      choose: (i) => go({ frame: this.tree.trail(i) }),
      reset: () => go({ frame: [] }),
      isFaint: (i) => this.noisy.has(this.tree.label(i)),
      describe: (i) => this.#describe(i),
    });
    this.legend = h(
      "ul",
      { class: "legend", "aria-label": "Colours" },
      [
        ["diff-0", "smaller share in the target"],
        ["diff-3", "about the same"],
        ["diff-6", "larger share in the target"],
        ["diff-5", "striped: may be noise", "faint"],
      ].map(([colour, text, more]) =>
        h(
          "li",
          {},
          h("i", { class: `swatch ${more || ""}`, style: { "--swatch": `var(--${colour})` } }),
          text,
        ),
      ),
    );
    this.summary = h("p", { class: "quiet-text" });
    this.table = new SortedTable({
      label: "What changed, by frame",
      sort: "-size",
      key: (row) => row.frame,
      pick: (row) => go({ q: row.frame }, { replace: true }),
      columns: [
        {
          key: "frame",
          title: "Frame",
          isText: true,
          value: (row) => row.frame,
          cell: (row) => h("div", { class: "named" }, h("span", { title: row.frame }, row.frame)),
        },
        {
          key: "base",
          title: "Base",
          note: "mean of a unit",
          value: (row) => row.base,
          cell: (row) => this.#mean(row.base),
        },
        {
          key: "target",
          title: "Target",
          note: "mean of a unit",
          value: (row) => row.target,
          cell: (row) => this.#mean(row.target),
        },
        {
          key: "size",
          title: "Change",
          note: "with its 95 % interval; what may be noise comes last",
          value: (row) => (row.may_be_noise ? Math.abs(row.change) / this.largest : 1 + Math.abs(row.change)),
          cell: (row) => this.#change(row),
        },
      ],
    });
    this.panel = new GraphPanel({
      label: "What changed",
      graph: h("div", { class: "graph" }, this.flame.element),
      legend: this.legend,
      focus: () => this.flame.element.focus(),
      side: h(
        "section",
        { class: "panel table-panel", "aria-label": "Table of changes" },
        this.summary,
        this.table.element,
      ),
    });
    this.body = this.panel.element;
    this.place = h("div");
    this.element = h(
      "div",
      { class: "page compare" },
      h("h1", { class: "visually-hidden" }, "Compare"),
      h(
        "section",
        { class: "sides", "aria-label": "What is compared" },
        this.sides.map((side) => side.element),
        h(
          "div",
          { class: "side-more" },
          h("span", {}, "mean per ", this.unit),
          h("span", {}, "paired by ", this.pair),
          h("button", { type: "button", class: "button", onclick: () => this.#swap() }, "⇄ Swap"),
        ),
      ),
      this.place,
    );
  }

  #side(name, title) {
    const filters = new Filters({
      label: `${title} filters`,
      fields: this.options.fields,
      change: (items) => go({ [name]: items }),
      context: () => filterQuery(state()),
    });
    const range = new TimeRange({
      label: `${title} time range`,
      change: (since, until) => go({ [`${name}_since`]: since, [`${name}_until`]: until }),
    });
    const element = h(
      "div",
      { class: `compared ${name}`, role: "group", "aria-label": title },
      h("b", {}, title),
      filters.element,
      range.element,
    );
    return { name, filters, range, element };
  }

  #swap() {
    const now = state();
    go({
      base: now.target,
      target: now.base,
      base_since: now.target_since,
      base_until: now.target_until,
      target_since: now.base_since,
      target_until: now.base_until,
    });
  }

  async show(now, { again }) {
    for (const side of this.sides) {
      side.filters.show(now[side.name]);
      side.range.show(now[`${side.name}_since`], now[`${side.name}_until`]);
    }
    this.unit.replaceChildren(
      select(
        "Unit of the means",
        [
          ["run", "run"],
          ["session", "session"],
        ],
        now.per || "run",
        (per) => go({ per: per === "run" ? "" : per }),
        { class: "quiet" },
      ),
    );
    this.pair.replaceChildren(
      select(
        "Pair runs by",
        [
          ["", "nothing"],
          ...this.options.fields
            .filter((field) => !["path", "token_kind"].includes(field.name))
            .map((field) => [field.name, field.name]),
        ],
        now.pair_by,
        (field) => go({ pair_by: field }),
        { class: "quiet" },
      ),
    );
    const isAsked = (side) => now[side].length || now[`${side}_since`] || now[`${side}_until`];
    if (!isAsked("base") || !isAsked("target")) return this.showEmpty(await this.#suggestions(now));
    const data = await this.latest.ask(diffPath(now, "tree"), { again });
    if (this.data !== data) {
      Object.assign(this, { data, tree: new Tree(data) });
      this.largest = Math.max(1, ...data.comparison.frames.map((row) => Math.abs(row.change)));
      this.byFrame = new Map(data.comparison.frames.map((row) => [row.frame, row]));
      this.noisy = new Set(data.comparison.frames.filter((row) => row.may_be_noise).map((row) => row.frame));
    }
    // Put back only when an empty state took its place: moving it would lose the focus.
    if (!this.body.isConnected) this.place.replaceChildren(this.body);
    this.#draw(state());
  }

  showEmpty(content) {
    this.place.replaceChildren(content);
  }
  repaint() {
    this.flame.draw();
  }

  #draw(now) {
    const {
        tree,
        data: { comparison },
      } = this,
      found = tree.search(now.q),
      zoomed = tree.find(now.frame);
    this.panel.showFound(now.q, found);
    this.flame.element.setAttribute(
      "aria-label",
      `What changed: ${plural(tree.count - 1, "frame")}. Arrow keys move, Enter zooms, Escape resets`,
    );
    this.flame.show(tree, zoomed, found);
    this.panel.showTrail(trailTo(tree.trail(zoomed)));
    const clear = comparison.frames.filter((row) => !row.may_be_noise).length,
      unit = now.per === "session" ? "session" : "run";
    this.summary.textContent = `${noun(comparison.measure)} per ${unit}: ${plural(comparison.base_units, unit)} against ${comparison.target_units.toLocaleString("en-US")}${comparison.pairs === null ? "" : `, ${comparison.pairs} values paired`}. ${plural(clear, "frame")} differ beyond noise.`;
    const wanted = now.q.trim().toLowerCase();
    this.table.show(
      wanted
        ? comparison.frames.filter((row) => row.frame.toLowerCase().includes(wanted))
        : comparison.frames,
    );
  }

  // What the comparison says about the name, wherever it stands.
  #describe(i) {
    const row = this.byFrame.get(this.tree.label(i));
    if (!row) return null;
    const { unit } = this.data.comparison,
      round = (value) => brief(Math.round(value * 100) / 100, unit);
    const interval =
      row.low === null ? "too few units to tell" : `95 % between ${round(row.low)} and ${round(row.high)}`;
    return h(
      "em",
      {},
      `${row.may_be_noise ? "May be noise: " : ""}${round(row.base)} → ${round(row.target)} each, ${interval}`,
    );
  }

  #mean(value) {
    return brief(Math.round(value * 100) / 100, this.data.comparison.unit);
  }

  #change(row) {
    const { unit } = this.data.comparison,
      round = (value) => figure(Math.round(value), unit);
    const interval =
      row.low === null ? "too few units to tell" : `95 %: ${round(row.low)} to ${round(row.high)}`;
    return [
      h(
        "span",
        {
          class: `change ${row.may_be_noise ? "noise" : row.change > 0 ? "grew" : "shrank"}`,
          title: `${signed(round(row.change))}\n${interval}`,
        },
        signed(brief(Math.round(row.change * 100) / 100, unit)),
      ),
      row.may_be_noise
        ? h("small", { class: "noise", title: interval }, "may be noise")
        : h(
            "small",
            { title: interval },
            row.base
              ? signed(`${Math.round((row.change / row.base) * 100).toLocaleString("en-US")} %`)
              : "new",
          ),
    ];
  }

  async #suggestions(now) {
    const offers = [];
    for (const [field, title] of [
      ["outcome", "outcome"],
      ["version", "version"],
      ["model", "model"],
    ]) {
      const query = filterQuery(now);
      query.set("field", field);
      query.set("limit", "2");
      const { values } = await ask(`/api/v1/values?${query}`).catch(() => ({ values: [] }));
      if (values.length < 2) continue;
      const [a, b] =
        field === "outcome"
          ? [...values].sort((x) => (x.value === "success" ? -1 : 1))
          : [...values].sort((x, y) => (x.value < y.value ? -1 : 1));
      offers.push(
        h(
          "a",
          {
            class: "button",
            href: linkTo({ base: [`${field}=${a.value}`], target: [`${field}=${b.value}`], frame: [] }),
          },
          `${title}: ${a.value} against ${b.value}`,
        ),
      );
    }
    return empty(
      "Compare two sets of runs",
      h(
        "p",
        {},
        "Give each side a filter or a time range above: what succeeded against what failed, one version against another, this week against the last.",
      ),
      offers.length ? h("div", { class: "offers" }, offers) : null,
    );
  }
}
