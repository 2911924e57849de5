// Sessions, newest first; or the runs behind one frame.

import { Latest, Refused, behindPath, filterQuery } from "./ask.js";
import { h } from "./dom.js";
import { brief, duration, figure, moment, money, noun, plural } from "./format.js";
import { linkTo } from "./state.js";
import { SortedTable } from "./table.js";

const LIMIT = 500;

export class Sessions {
  constructor(options) {
    this.options = options;
    this.latest = new Latest();
    this.note = h("p", { class: "quiet-text" });
    this.title = h("h1", {}, "Sessions");
    this.place = h("div", { class: "panel" });
    this.element = h(
      "div",
      { class: "page" },
      h("div", { class: "page-head" }, this.title, this.note),
      this.place,
    );
    this.list = new SortedTable({
      label: "Sessions",
      sort: "-end",
      key: (row) => row.session,
      columns: columns(() => this.most),
    });
  }

  async show(now, { again }) {
    const frame = now.sandwich ? [now.sandwich] : now.frame;
    await (frame.length ? this.#showBehind(now, frame, again) : this.#showAll(now, again));
  }

  showEmpty(content) {
    this.place.replaceChildren(content);
  }

  async #showAll(now, again) {
    const found = await this.latest.ask(`/api/v1/sessions?${filterQuery(now)}&limit=${LIMIT}`, { again });
    if (!found.sessions.length) throw new Refused("no session matches", 404);
    this.title.replaceChildren("Sessions");
    this.note.textContent = found.not_shown
      ? `the newest ${LIMIT}; ${found.not_shown.toLocaleString("en-US")} older ones are not shown`
      : plural(found.sessions.length, "session");
    this.most = Math.max(1, ...found.sessions.map((row) => row.tokens || 0));
    this.list.show(found.sessions);
    this.place.replaceChildren(this.list.element);
  }

  async #showBehind(now, frame, again) {
    const found = await this.latest.ask(
      behindPath(now, { frame, limit: "1000", ...(now.sandwich ? { anywhere: "true" } : {}) }),
      { again },
    );
    const context = now.sandwich ? { sandwich: now.sandwich, frame: [] } : { frame: now.frame, sandwich: "" };
    this.title.replaceChildren("Behind ", h("em", {}, frame.join(" › ")));
    this.note.replaceChildren(
      `${plural(found.rows.length + found.not_shown, "run")}, ${figure(found.total, found.unit)} ${noun(found.measure)} in this frame · `,
      h("a", { href: linkTo({ page: "flame" }) }, "back to the graph"),
      " · ",
      h("a", { href: linkTo({ frame: [], sandwich: "" }) }, "all sessions"),
    );
    const measures = [
      [found.measure, found.unit],
      ["tokens", "count"],
      ["cost", "nanousd"],
      ["duration", "nanoseconds"],
      ["operations", "count"],
    ];
    const table = new SortedTable({
      label: "Runs behind the frame",
      sort: `-${found.measure}`,
      key: (row) => row.session,
      columns: [
        {
          key: "session",
          title: "Session",
          isText: true,
          value: (row) => row.session,
          cell: (row) =>
            h("a", { href: linkTo({ page: "session", session: row.session, ...context }) }, row.session),
        },
        { key: "run", title: "Run", isMinor: true, value: (row) => Number(row.run), cell: (row) => row.run },
        ...measures
          .filter(([name], index) => measures.findIndex(([other]) => other === name) === index)
          .map(([name, unit]) => ({
            key: name,
            isMinor: name !== found.measure && name !== "tokens" && name !== "cost",
            title: capital(noun(name)),
            value: (row) => row[name],
            cell: (row) => h("span", { title: figure(row[name], unit) }, brief(row[name], unit)),
          })),
      ],
    });
    table.show(found.rows);
    this.place.replaceChildren(table.element);
  }
}

function columns(most) {
  return [
    {
      key: "end",
      isMinor: true,
      title: "Ended (UTC)",
      isText: true,
      value: (row) => row.end_ns || 0,
      cell: (row) => moment(row.end_ns),
    },
    {
      key: "session",
      title: "Session",
      isText: true,
      value: (row) => row.session,
      cell: (row) => [
        h(
          "a",
          { href: linkTo({ page: "session", session: row.session, frame: [], sandwich: "" }) },
          row.session,
        ),
        h("small", { class: "on-phone" }, moment(row.end_ns)),
      ],
    },
    {
      key: "root",
      title: "Goal",
      isText: true,
      value: (row) => row.root || "",
      cell: (row) => row.root || "–",
    },
    {
      key: "agents",
      isMinor: true,
      title: "Agents",
      isText: true,
      value: (row) => row.agents.join(),
      cell: (row) => row.agents.join(", ") || "–",
    },
    {
      key: "outcome",
      title: "Outcome",
      isText: true,
      value: (row) => row.outcome || "",
      cell: (row) => outcome(row.outcome),
    },
    {
      key: "tokens",
      title: "Tokens",
      value: (row) => row.tokens ?? -1,
      cell: (row) =>
        h(
          "span",
          {
            class: "share",
            style: { "--share": String((row.tokens || 0) / most()) },
            title: figure(row.tokens, "count"),
          },
          brief(row.tokens, "count"),
        ),
    },
    {
      key: "cost",
      title: "Cost",
      value: (row) => row.cost_usd ?? -1,
      cell: (row) => (row.cost_usd === null ? "–" : money(row.cost_usd)),
    },
    {
      key: "time",
      isMinor: true,
      title: "Self time",
      value: (row) => row.duration_seconds ?? -1,
      cell: (row) => (row.duration_seconds === null ? "–" : duration(row.duration_seconds)),
    },
    {
      key: "operations",
      isMinor: true,
      title: "Operations",
      value: (row) => row.operations,
      cell: (row) => row.operations.toLocaleString("en-US"),
    },
    {
      key: "errors",
      isMinor: true,
      title: "Failed",
      value: (row) => row.errors,
      cell: (row) => (row.errors ? h("b", { class: "bad" }, row.errors) : "0"),
    },
  ];
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

export function outcome(text) {
  if (!text) return h("span", { class: "quiet-text" }, "unknown");
  return h(
    "span",
    { class: `outcome ${text === "success" ? "good" : text === "failure" ? "bad" : ""}` },
    text,
  );
}
