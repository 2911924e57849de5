// What the figures rest on: what telemetry did not say, and the setting that mends it.

import { Latest, Refused, filterQuery } from "./ask.js";
import { empty, h } from "./dom.js";
import { percent, plural } from "./format.js";
import { SortedTable } from "./table.js";

export class Coverage {
  constructor() {
    this.latest = new Latest();
    this.place = h("div");
    this.element = h(
      "div",
      { class: "page coverage" },
      h(
        "div",
        { class: "page-head" },
        h("h1", {}, "Coverage"),
        h("p", { class: "quiet-text" }, "What the figures rest on, and what the telemetry does not say."),
      ),
      this.place,
    );
  }

  async show(now, { again }) {
    const { coverage, findings } = await this.latest.ask(`/api/v1/coverage?${filterQuery(now)}`, { again });
    if (!coverage.operations && !Object.keys(coverage.counters).length)
      throw new Refused("no operation is settled yet", 404);
    this.place.replaceChildren(
      h(
        "section",
        { "aria-label": "Findings" },
        findings.length
          ? h(
              "ol",
              { class: "findings" },
              findings.map((finding) =>
                h(
                  "li",
                  {},
                  finding.who ? h("span", { class: "who" }, finding.who) : null,
                  h("b", {}, finding.what),
                  h("p", {}, finding.mend),
                ),
              ),
            )
          : h(
              "div",
              { class: "all-good" },
              ...(coverage.calls_without_usage
                ? [
                    h("b", {}, "Nothing needs mending."),
                    ` Of ${plural(coverage.operations, "operation")}, ${plural(coverage.calls_without_usage, "model call")} reported no tokens; calls that fail seldom do.`,
                  ]
                : [
                    h("b", {}, "Nothing is missing."),
                    ` All ${plural(coverage.operations, "operation")} report what they should.`,
                  ]),
            ),
      ),
      h("h2", {}, "Instrumentations"),
      h("div", { class: "panel" }, producers(coverage.by_dialect)),
      h(
        "div",
        { class: "lists" },
        list("Spans that do not count", coverage.not_counted, "None."),
        list("Further views of what counts once", coverage.merged_views, "None."),
        list("Impossible values, counted as unknown", coverage.bad_values, "None was seen."),
        ...Object.entries(coverage.counters).map(([name, values]) =>
          list(name.replaceAll("_", " "), values, "None."),
        ),
      ),
    );
  }

  showEmpty(content) {
    this.place.replaceChildren(content || empty("Nothing yet"));
  }
}

function producers(rows) {
  const count = (key, title, of) => ({
    key,
    title,
    value: (row) => row[key],
    cell: (row) =>
      of && row[key] && row[of]
        ? [
            h("b", { class: row[key] / row[of] >= 0.05 ? "bad" : "" }, row[key].toLocaleString("en-US")),
            h("small", {}, ` ${percent(row[key] / row[of])}`),
          ]
        : row[key].toLocaleString("en-US"),
  });
  const table = new SortedTable({
    label: "Instrumentations",
    sort: "-operations",
    key: (row) => `${row.scope} ${row.version}`,
    columns: [
      {
        key: "dialect",
        isMinor: true,
        title: "Dialect",
        isText: true,
        value: (row) => row.dialect || "",
        cell: (row) => row.dialect || "–",
      },
      {
        key: "scope",
        title: "Scope",
        isText: true,
        value: (row) => row.scope || "",
        cell: (row) => [row.scope || "–", h("small", {}, ` ${row.version || ""}`)],
      },
      { ...count("operations", "Operations"), isMinor: true },
      count("llm_calls", "Model calls"),
      count("calls_without_usage", "Without tokens", "llm_calls"),
      count("without_session", "Without session", "operations"),
      count("calls_without_text", "Without text", "llm_calls"),
    ],
  });
  table.show(rows);
  return table.element;
}

function list(title, values, none) {
  const entries = Object.entries(values || {});
  return h(
    "section",
    {},
    h("h2", {}, title),
    entries.length
      ? h(
          "dl",
          { class: "counts" },
          entries.map(([name, value]) => [
            h("dt", {}, (name || "all").replaceAll("_", " ")),
            h("dd", {}, value.toLocaleString("en-US")),
          ]),
        )
      : h("p", { class: "quiet-text" }, none),
  );
}
