// The totals above the graph: those of `whyflame totals`, exactly.

import { h } from "./dom.js";
import { brief, duration, money, percent, plural } from "./format.js";
import { linkTo } from "./state.js";

// One block a figure. `durationNs` is the time that the data span, `failed` the same sums of failing runs.
export function figures({ rows: [row], coverage }, durationNs, failed) {
  const tokens = tokensOf(row),
    known = tokens !== null;
  const exact = (value) => (value === null ? "not reported" : value.toLocaleString("en-US"));
  const cached =
    row.cache_read_tokens && row.input_tokens
      ? `${percent(row.cache_read_tokens / row.input_tokens)} of input from cache`
      : "";
  const items = [
    [
      "tokens",
      "Tokens",
      exact(tokens),
      known ? `${brief(row.input_tokens || 0)} in, ${brief(row.output_tokens || 0)} out` : "",
    ],
    ["cached", "From cache", exact(row.cache_read_tokens), cached],
    [
      "cost",
      "Cost",
      row.cost_usd === null ? "unknown" : money(row.cost_usd),
      coverage.unpriced_calls
        ? `${plural(coverage.unpriced_calls, "call")} without a price`
        : row.cost_usd === null
          ? ""
          : "every call priced",
    ],
    [
      "duration",
      "Self time",
      row.duration_seconds === null ? "unknown" : duration(row.duration_seconds),
      durationNs !== "0" ? `within ${duration(Number(durationNs) / 1e9)}` : "",
    ],
    ["llm_calls", "Model calls", exact(row.llm_calls), `${exact(row.llm_errors)} failed`],
    ["tool_calls", "Tool calls", exact(row.tool_calls), `${exact(row.tool_errors)} failed`],
    [
      "sessions",
      "Sessions",
      exact(coverage.sessions),
      coverage.sessions_without_id ? `${exact(coverage.sessions_without_id)} without an id` : "",
    ],
  ];
  return [...items, ...(failed ? failing(failed.rows[0], row) : [])].map(([key, name, value, note]) =>
    h(
      "div",
      { class: UNKNOWN.includes(value) ? "unknown" : null },
      h("dt", {}, name),
      h("dd", { data: { figure: key } }, value),
      h("dd", { class: "note" }, note),
    ),
  );
}

// What runs that failed have cost, with the way to what they did differently.
function failing(failed, all) {
  const isPriced = failed.cost_usd !== null,
    spent = isPriced ? failed.cost_usd : tokensOf(failed),
    total = isPriced ? all.cost_usd : tokensOf(all);
  if (spent === null || !total) return [];
  const link = linkTo({
    page: "compare",
    base: ["outcome!=failure"],
    target: ["outcome=failure"],
    frame: [],
    sandwich: "",
    q: "",
  });
  return [
    [
      "failing",
      "In failing runs",
      isPriced ? money(spent) : spent.toLocaleString("en-US"),
      [`${percent(spent / total)} · `, h("a", { href: link }, "what do they do differently?")],
    ],
  ];
}

const UNKNOWN = ["not reported", "unknown"];

const tokensOf = (row) =>
  row.input_tokens === null && row.output_tokens === null
    ? null
    : (row.input_tokens || 0) + (row.output_tokens || 0);
