/** 21_500_000 -> "21.5 MB". Decimal units, as disks are sold and `df -H` prints. */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
  const rounded = Number(bytes.toPrecision(3)); // first: 999,999 are 1.00 MB
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, rounded)) / 3));
  return `${unit === 0 ? bytes : (rounded / 1000 ** unit).toPrecision(3)} ${units[unit]}`;
}
