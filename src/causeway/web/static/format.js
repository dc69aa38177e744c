// Numbers and times as people read them; the same words as words.py has.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const NONE = "–";

export function count(value) {
  return value === null || value === undefined ? NONE : whole.format(value);
}

export function rate(value) {
  return value > 0 && value < 10 ? fine.format(value) : whole.format(value);
}

export function short(value) {
  // For axes and narrow places: 1.2 M.
  for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (value >= size) {
      const scaled = value / (size === 1e4 ? 1e3 : size);
      return (scaled < 10 ? fine.format(scaled).replace(".0", "") : whole.format(scaled)) + unit;
    }
  }
  return value > 0 && value < 10 && !Number.isInteger(value) ? fine.format(value) : whole.format(value);
}

export function size(bytes) {
  for (const [unit, name] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (bytes >= unit) return `${fine.format(bytes / unit)} ${name}`;
  }
  return `${whole.format(bytes)} B`;
}

export function span(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 10) return `${fine.format(Math.max(0, seconds))} s`;
  const all = Math.round(seconds);
  if (all < 120) return `${all} s`;
  for (const [unit, name, below, less] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"]]) {
    if (all >= 2 * unit) {
      const rest = Math.floor((all % unit) / below);
      return `${Math.floor(all / unit)} ${name}${rest ? ` ${rest} ${less}` : ""}`;
    }
  }
  return `${Math.floor(all / 60)} min`;
}

export function millis(value) {
  // A minute is as far as the ledger's buckets tell.
  if (value === null || value === undefined) return NONE;
  if (value >= 60000) return "> 1 min";
  return value < 1000 ? `${whole.format(value)} ms` : `${fine.format(value / 1000)} s`;
}

export function time(at, now) {
  const when = new Date(at);
  const clock = when.toLocaleTimeString("en-GB");
  return now - at < 43200000 ? clock : `${when.toLocaleDateString("en-CA")} ${clock}`;
}

export function utc(at) {
  return new Date(at).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
}
