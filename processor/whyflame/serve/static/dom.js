// Elements from data: text never becomes markup, styles never become attributes.

export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(element.dataset, value);
    // The content security policy allows custom properties set like this, not a style attribute.
    else if (key === "style") for (const name in value) element.style.setProperty(name, value[name]);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(
    ...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

// A select from [value, label] pairs; the chosen one need not be among them.
export function select(label, options, chosen, onchange, properties = {}) {
  const known = options.some(([value]) => value === chosen);
  const all = known ? options : [...options, [chosen, chosen]];
  return h(
    "select",
    {
      "aria-label": label,
      ...properties,
      onchange: (event) => onchange(event.target.value, event.target),
    },
    all.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
}

export function empty(title, ...rest) {
  return h("div", { class: "empty" }, h("h2", {}, title), ...rest);
}
