// Numbers and times as text; durations as core/times.py formats them, counts as core/plural.py does.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const NONE = "–";

export function count(value) {
  return unknown(value) ? NONE : whole.format(value);
}

export function counted(value, noun) {
  // "1 partition", "2 partitions"
  return `${count(value)} ${noun}${Math.abs(value) === 1 ? "" : "s"}`;
}

export function rate(value) {
  return value > 0 && value < 10 ? fine.format(value) : whole.format(value);
}

export function short(value) {
  // For axes and narrow columns: 1.2 M.
  if (unknown(value)) return NONE;
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

export function duration(seconds) {
  if (unknown(seconds)) return NONE;
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

export function latency(milliseconds) {
  // The ledger's buckets end at one minute.
  if (unknown(milliseconds)) return NONE;
  if (milliseconds >= 60000) return "> 1 min";
  return milliseconds < 1000 ? `${whole.format(milliseconds)} ms` : `${fine.format(milliseconds / 1000)} s`;
}

export function time(at, now) {
  const date = new Date(at);
  const clock = date.toLocaleTimeString("en-GB");
  return now - at < 43200000 ? clock : `${date.toLocaleDateString("en-CA")} ${clock}`;
}

export function utc(at) {
  return new Date(at).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
}

export function place(partition) {
  // The destination of a source partition.
  if (partition.to_partition === null) return `${partition.to_topic}, partition by key`;
  return `${partition.to_topic}[${partition.to_partition}]`;
}

function unknown(value) {
  return value === null || value === undefined;
}
