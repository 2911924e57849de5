// Draws the flame graph from the data beside it; nothing is fetched, nothing leaves the file.
(function () {
  "use strict";
  const svg = document.querySelector("svg.whyflame");
  const data = JSON.parse(svg.querySelector("script[type='application/json']").textContent);
  const canvas = svg.querySelector(".frames");
  const status = svg.querySelector(".status");
  const tip = svg.querySelector(".tip");
  const box = tip.querySelector("div");
  const input = svg.querySelector("input");
  const resetButton = svg.querySelector("button");
  const SVG = "http://www.w3.org/2000/svg";
  const HTML = "http://www.w3.org/1999/xhtml";
  const ROW = data.row, TOP = data.top, MARGIN = data.margin, LEAST = 0.6, isDiff = data.mode === "diff";
  const count = data.depth.length;
  const pen = document.createElementNS(HTML, "canvas").getContext("2d");
  pen.font = "12px " + getComputedStyle(svg).fontFamily;

  // The tree in preorder: parent, end of the subtree, width and start of every node.
  const parent = new Int32Array(count), end = new Int32Array(count);
  const width = new Float64Array(count), start = new Float64Array(count);
  const sums = data.totals.map((column) => Number(column[0]) || 1);
  (function index() {
    const open = [], filled = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      while (open.length > data.depth[i]) end[open.pop()] = i;
      parent[i] = open.length ? open[open.length - 1] : -1;
      open.push(i);
      width[i] = isDiff
        ? (Number(data.totals[0][i]) / sums[0] + Number(data.totals[1][i]) / sums[1]) / 2
        : Number(data.totals[0][i]) / sums[0];
      if (i) {
        start[i] = filled[parent[i]];
        filled[parent[i]] += width[i];
      }
      filled[i] = start[i];
    }
    while (open.length) end[open.pop()] = count;
  })();

  let zoomed = 0, focused = 0, found = null, pageWidth = 1200;
  const foundBefore = new Int32Array(count + 1); // matches among the nodes before each

  // --- words and figures ---------------------------------------------------------------------
  const name = (i) => data.names[data.name[i]];
  const whole = (value) => BigInt(value).toLocaleString("en-US");
  const percent = (part) => (part * 100).toFixed(2) + "%";

  function decimal(value, digits, least) {
    const big = BigInt(value), unit = 10n ** BigInt(digits), size = big < 0n ? -big : big;
    let rest = (size % unit).toString().padStart(digits, "0").replace(/0+$/, "");
    rest = rest.padEnd(least, "0");
    return (big < 0n ? "-" : "") + (size / unit).toLocaleString("en-US") + (rest ? "." + rest : "");
  }

  function figure(value, unit) {
    if (unit === "nanousd") return "$" + decimal(value, 9, 2);
    if (unit === "microusd") return "$" + decimal(value, 6, 2);
    if (unit === "nanoseconds") return decimal(value, 9, 0) + " s";
    return whole(value) + (unit === "bytes" ? " B" : "");
  }

  function change(i) {
    const before = Number(data.totals[0][i]) / sums[0], after = Number(data.totals[1][i]) / sums[1];
    return { before, after, points: after - before };
  }

  function shortly(i) {
    if (isDiff) {
      const { before, after, points } = change(i);
      return name(i) + ", " + percent(before) + " before, " + percent(after) + " after, " +
        (points < 0 ? "" : "+") + (points * 100).toFixed(2) + " points";
    }
    const type = data.types[0];
    return name(i) + ", " + figure(data.totals[0][i], type.unit) + " " + type.noun + ", " + percent(width[i]);
  }

  function trail(i) {
    const names = [];
    for (let at = parent[i]; at > 0; at = parent[at]) names.unshift(name(at));
    return names.join(" › ");
  }

  // --- drawing -------------------------------------------------------------------------------
  function fit(text, room) {
    if (room < 18) return "";
    if (pen.measureText(text).width <= room) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pen.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
    }
    return low > 1 ? text.slice(0, low) + "…" : "";
  }

  function element(tag, attributes, into) {
    const made = document.createElementNS(SVG, tag);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (into) into.appendChild(made);
    return made;
  }

  function fill(i) {
    if (!isDiff) return data.colours[data.name[i]];
    if (i === 0) return "diff-3";
    const { before, after } = change(i);
    const ratio = (after - before) / Math.max(before, after, 1e-12);
    const size = Math.abs(ratio) < 0.05 ? 0 : Math.abs(ratio) < 0.25 ? 1 : Math.abs(ratio) < 0.6 ? 2 : 3;
    return "diff-" + (3 + Math.sign(ratio) * size);
  }

  function draw() {
    const inner = pageWidth - 2 * MARGIN, scale = inner / width[zoomed], origin = start[zoomed];
    const above = [];
    for (let at = parent[zoomed]; at >= 0; at = parent[at]) above.push(at);
    const drawn = document.createDocumentFragment();
    for (const at of above.reverse()) frame(drawn, at, MARGIN, inner, " above");
    let skipFrom = -1, skipX = 0, skipEnd = 0, skipped = 0, hits = 0;
    const flush = () => {
      if (skipped) narrow(drawn, skipFrom, skipX, skipEnd, skipped, found ? (hits ? " found" : " missed") : "");
      skipped = hits = 0;
    };
    for (let i = zoomed; i < end[zoomed];) {
      const x = MARGIN + (start[i] - origin) * scale, w = width[i] * scale;
      if (w < LEAST && i !== focused) {
        if (skipped && (parent[skipFrom] !== parent[i])) flush();
        if (!skipped) { skipFrom = i; skipX = x; }
        skipEnd = x + w; skipped++;
        if (found) hits += foundBefore[end[i]] - foundBefore[i];
        i = holds(i, focused) ? i + 1 : end[i];
        continue;
      }
      flush();
      frame(drawn, i, x, Math.max(w, 2), "");
      i++;
    }
    flush();
    canvas.replaceChildren(drawn);
    resetButton.disabled = zoomed === 0 && !found;
  }

  const holds = (i, inside) => inside > i && inside < end[i];

  function frame(into, i, x, w, extra) {
    const state = found ? (found.has(i) ? " found" : " missed") : "";
    const group = element("g", {
      class: "frame" + extra + state, role: "treeitem", "data-i": i, "aria-level": data.depth[i] + 1,
      "aria-label": shortly(i), tabindex: i === focused ? 0 : -1, "aria-selected": i === zoomed,
    }, into);
    if (end[i] > i + 1) group.setAttribute("aria-expanded", "true");
    const y = TOP + data.depth[i] * ROW;
    element("rect", { x: x + 0.5, y, width: Math.max(w - 1, 0.5), height: ROW - 1, rx: w > 8 ? 3 : 0, class: fill(i) }, group);
    const label = fit(name(i), w - 12);
    if (label) element("text", { x: x + 6, y: y + ROW / 2 + 4 }, group).textContent = label;
  }

  function narrow(into, i, from, to, many, state) {
    const y = TOP + data.depth[i] * ROW;
    const made = element("rect", {
      class: "narrow" + state, "data-narrow": parent[i], x: from, y, width: Math.max(to - from, 0.5), height: ROW - 1,
    }, into);
    element("title", {}, made).textContent = many + (many === 1 ? " narrow frame" : " narrow frames") + ": click to zoom in";
  }

  // --- states --------------------------------------------------------------------------------
  function zoom(i) {
    zoomed = i;
    if (focused < i || focused >= end[i]) focused = i;
    draw();
    say();
  }

  function focus(i) {
    focused = i;
    if (!holds(zoomed, i) && i !== zoomed) zoomed = 0;
    draw();
    const made = canvas.querySelector('[data-i="' + i + '"]');
    if (made) {
      made.focus();
      const place = made.getBoundingClientRect();
      show(i, place.left + place.width / 2, place.bottom);
    }
    say();
  }

  function say() {
    if (!found) {
      status.textContent = zoomed ? shortly(zoomed) + " (zoomed, Escape to reset)" : "";
      return;
    }
    let share = 0, until = 0;
    const sorted = Array.from(found).sort((a, b) => a - b);
    for (const i of sorted) if (i >= until) { share += width[i]; until = end[i]; }
    const noun = isDiff ? "width" : data.types[0].noun;
    status.textContent = sorted.length.toLocaleString("en-US") + (sorted.length === 1 ? " frame matches: " : " frames match: ") +
      percent(share) + " of " + noun;
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    found = null;
    if (wanted) {
      const hits = data.names.map((word) => word.toLowerCase().includes(wanted));
      found = new Set();
      for (let i = 1; i < count; i++) if (hits[data.name[i]]) found.add(i);
      for (let i = 0; i < count; i++) foundBefore[i + 1] = foundBefore[i] + (found.has(i) ? 1 : 0);
    }
    draw();
    say();
  }

  function nextMatch(step) {
    if (!found || !found.size) return;
    const sorted = Array.from(found).sort((a, b) => a - b);
    const later = step > 0 ? sorted.find((i) => i > focused) : sorted.reverse().find((i) => i < focused);
    focus(later === undefined ? sorted[0] : later);
  }

  function reset() {
    input.value = "";
    found = null;
    zoom(0);
  }

  // --- tooltip -------------------------------------------------------------------------------
  function line(list, term, value) {
    const dt = document.createElementNS(HTML, "dt"), dd = document.createElementNS(HTML, "dd");
    dt.textContent = term;
    dd.textContent = value;
    list.append(dt, dd);
  }

  function show(i, clientX, clientY) {
    const title = document.createElementNS(HTML, "strong"), path = document.createElementNS(HTML, "em");
    const list = document.createElementNS(HTML, "dl");
    title.textContent = name(i);
    path.textContent = trail(i);
    if (isDiff) {
      const { before, after, points } = change(i), unit = data.types[0].unit;
      line(list, data.types[0].noun, percent(before) + "  " + figure(data.totals[0][i], unit));
      line(list, data.types[1].noun, percent(after) + "  " + figure(data.totals[1][i], unit));
      line(list, "change", (points < 0 ? "" : "+") + (points * 100).toFixed(2) + " points");
    } else {
      const unit = data.types[0].unit;
      line(list, "share of all", percent(width[i]));
      if (i) line(list, "share of parent", percent(width[i] / (width[parent[i]] || 1)));
      line(list, data.types[0].noun, figure(data.totals[0][i], unit));
      line(list, "in itself", figure(data.selfs[i], unit));
      for (let k = 1; k < data.types.length; k++) line(list, data.types[k].noun, figure(data.totals[k][i], data.types[k].unit));
    }
    box.replaceChildren(title, path, list);
    tip.setAttribute("visibility", "visible");
    const edge = svg.getBoundingClientRect(), size = box.getBoundingClientRect();
    let x = clientX - edge.left + 14, y = clientY - edge.top + 14;
    if (x + size.width > pageWidth - 8) x = Math.max(8, clientX - edge.left - size.width - 14);
    const bottom = window.innerHeight - edge.top;
    if (y + size.height > bottom - 8) y = Math.max(8, clientY - edge.top - size.height - 14);
    tip.setAttribute("x", x);
    tip.setAttribute("y", y);
  }

  const hide = () => tip.setAttribute("visibility", "hidden");
  const indexAt = (target) => {
    const group = target.closest && target.closest(".frame");
    return group ? Number(group.getAttribute("data-i")) : -1;
  };

  // --- events --------------------------------------------------------------------------------
  canvas.addEventListener("mousemove", (event) => {
    const i = indexAt(event.target);
    if (i < 0) hide(); else show(i, event.clientX, event.clientY);
  });
  canvas.addEventListener("mouseleave", hide);
  canvas.addEventListener("click", (event) => {
    const near = event.target.getAttribute("data-narrow");
    const i = near === null ? indexAt(event.target) : Number(near);
    if (i < 0) return;
    hide();
    focused = i;
    zoom(i);
  });
  // Not at the drawing itself: with a listener of its own it would become a stop of the Tab key.
  document.addEventListener("focusin", (event) => {
    if (canvas.contains(event.target)) focused = Math.max(indexAt(event.target), 0);
  });
  input.addEventListener("input", () => search(input.value));
  resetButton.addEventListener("click", reset);

  function sideways(step) {
    const depth = data.depth[focused], low = zoomed, high = end[zoomed];
    for (let i = step > 0 ? end[focused] : focused - 1; i > low && i < high; i += step) {
      if (data.depth[i] === depth) return i;
    }
    return focused;
  }

  const moves = {
    ArrowDown: () => focus(end[focused] > focused + 1 ? focused + 1 : focused),
    ArrowUp: () => focus(Math.max(parent[focused], 0)),
    ArrowRight: () => focus(sideways(1)),
    ArrowLeft: () => focus(sideways(-1)),
    Home: () => focus(0),
    Enter: () => { zoom(focused); focus(focused); },
    " ": () => { zoom(focused); focus(focused); },
    n: () => nextMatch(1),
    N: () => nextMatch(-1),
    "/": () => { input.focus(); input.select(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const isOurs = event.target === input || canvas.contains(event.target);
      if (found) { input.value = ""; search(""); } else zoom(0);
      if (isOurs) focus(focused); // what had it was drawn anew
      hide();
      return;
    }
    if (event.target === input) {
      if (event.key === "Enter") { nextMatch(1); event.preventDefault(); }
      return;
    }
    // Beside other controls of a page that holds this graph, their keys are theirs.
    if (/^(input|textarea|select|button|a)$/i.test(event.target.localName)) return;
    const move = moves[event.key];
    if (move) {
      event.preventDefault();
      move();
    }
  });

  function resize() {
    const room = Math.round(svg.getBoundingClientRect().width);
    pageWidth = Math.max(320, room || 1200);
    // Alone in a window the drawing takes all of it, so that tooltips are not cut off below.
    const height = document.documentElement === svg ? Math.max(data.height, window.innerHeight) : data.height;
    svg.setAttribute("viewBox", "0 0 " + pageWidth + " " + height);
    svg.setAttribute("height", height);
    const tools = svg.querySelector(".tools").parentNode, size = Math.min(340, pageWidth - 2 * MARGIN);
    tools.setAttribute("x", pageWidth - MARGIN - size);
    tools.setAttribute("width", size);
    // On a phone the search takes the title's place.
    const heading = svg.querySelector(".heading"), hasRoom = MARGIN + heading.getComputedTextLength() < pageWidth - MARGIN - size;
    heading.setAttribute("visibility", hasRoom ? "visible" : "hidden");
    svg.querySelector(".hint").setAttribute("x", pageWidth - MARGIN);
    draw();
  }

  function spaceLegend() {
    let x = MARGIN;
    const parts = svg.querySelectorAll(".legend > *");
    for (let k = 0; k < parts.length; k += 2) {
      parts[k].setAttribute("x", x);
      parts[k + 1].setAttribute("x", x + 16);
      x += 16 + parts[k + 1].getComputedTextLength() + 20;
    }
  }

  svg.querySelector(".tools").parentNode.setAttribute("visibility", "visible");
  svg.querySelector(".hint").setAttribute("visibility", "visible");
  window.addEventListener("resize", resize);
  resize();
  spaceLegend();
})();
