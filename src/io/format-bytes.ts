/**
 * Formats a size with three digits: `21_500_000` -> `21.5 MB`. Units are decimal, as in `df -H`.
 */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const rounded = Number(bytes.toPrecision(3)); // before the unit is chosen: 999,999 is 1.00 MB
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, rounded)) / 3));
  return `${unit === 0 ? bytes : (rounded / 1000 ** unit).toPrecision(3)} ${units[unit]}`;
}
