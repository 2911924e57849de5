// Figures as people read them. Exact ones never pass through a rounding number.

const NOUNS = {
  tokens: "tokens",
  cost: "cost",
  duration: "self time",
  operations: "operations",
  errors: "errors",
  input_tokens: "input tokens",
  output_tokens: "output tokens",
  input_uncached: "uncached input",
  cache_read_tokens: "cache read",
  cache_write_tokens: "cache written",
  reasoning_tokens: "reasoning",
  output_visible: "visible output",
  input_bytes: "bytes sent",
  output_bytes: "bytes received",
};
const DIGITS = { nanousd: 9, microusd: 6, nanoseconds: 9 };

export const noun = (measure) => NOUNS[measure] || measure.replaceAll("_", " ");

function decimal(value, digits, least) {
  const big = BigInt(value),
    unit = 10n ** BigInt(digits),
    size = big < 0n ? -big : big;
  const rest = (size % unit).toString().padStart(digits, "0").replace(/0+$/, "").padEnd(least, "0");
  return (big < 0n ? "-" : "") + (size / unit).toLocaleString("en-US") + (rest ? "." + rest : "");
}

// The exact figure: 4,558,192 or $12.3456 or 3,723.5 s.
export function figure(value, unit) {
  if (value === null || value === undefined) return "unknown";
  if (unit === "nanousd" || unit === "microusd") return "$" + decimal(value, DIGITS[unit], 2);
  if (unit === "nanoseconds") return decimal(value, 9, 0) + " s";
  return BigInt(value).toLocaleString("en-US") + (unit === "bytes" ? " B" : "");
}

// The exact figure, and a long time in hours and minutes too.
// A profile adds up what is known: a call without a price adds nothing, which is no price of $0.
export function readable(value, unit) {
  if (unit === "nanousd" && !Number(value)) return "none known";
  const exact = figure(value, unit),
    seconds = Number(value) / 1e9;
  return unit === "nanoseconds" && Math.abs(seconds) >= 60 ? `${duration(seconds)}  ·  ${exact}` : exact;
}

// A change: with a plus, or with a minus as wide as one.
export const signed = (text) => (text.startsWith("-") ? text.replace("-", "−") : `+${text}`);

// The figure in few letters: 4.56M, $12.35, 1 h 2 min.
export function brief(value, unit) {
  if (value === null || value === undefined) return "–";
  const number = Number(value);
  if (unit === "nanousd") return money(number / 1e9);
  if (unit === "nanoseconds") return shortly(number / 1e9);
  const size = Math.abs(number);
  for (const [step, letter] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ])
    if (size >= step * 0.9995) return significant(number / step) + letter;
  return Number.isInteger(number) ? String(number) : number.toFixed(1);
}

const significant = (value) => value.toFixed(Math.abs(value) >= 99.95 ? 0 : Math.abs(value) >= 9.995 ? 1 : 2);

export function money(usd) {
  const sign = usd < 0 ? "-$" : "$",
    size = Math.abs(usd);
  if (size && size < 0.01) return sign + size.toPrecision(2);
  return sign + size.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

function shortly(seconds) {
  const size = Math.abs(seconds);
  if (size < 60) return duration(seconds);
  return size < 3600
    ? `${(seconds / 60).toFixed(1)} min`
    : `${(seconds / 3600).toLocaleString("en-US", { maximumFractionDigits: 1 })} h`;
}

export function duration(seconds) {
  const sign = seconds < 0 ? "-" : "";
  let size = Math.abs(seconds);
  if (size >= 59.95) size = Math.round(size);
  if (size >= 3600)
    return `${sign}${Math.floor(size / 3600).toLocaleString("en-US")} h ${Math.floor((size % 3600) / 60)} min`;
  if (size >= 60) return `${sign}${Math.floor(size / 60)} min ${size % 60} s`;
  if (size >= 1) return `${sign}${size.toFixed(1)} s`;
  return size ? `${sign}${Math.round(size * 1000)} ms` : "0 s";
}

export const percent = (share) =>
  (share * 100).toFixed(share && Math.abs(share) < 0.001 ? 3 : share >= 0.9995 ? 0 : 1) + " %";

export function moment(ns) {
  if (ns === null || ns === undefined) return "–";
  return new Date(Number(BigInt(ns) / 1000000n)).toISOString().slice(0, 16).replace("T", " ");
}

export const plural = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
