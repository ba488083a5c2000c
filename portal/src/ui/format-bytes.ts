const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];

/** `0 byte`, `5.4 MB`. */
export function formatBytes(bytes: number): string {
  const place = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const style = { style: 'unit', unit: units[place], maximumFractionDigits: 1 } as const;
  return (bytes / 1_000 ** place).toLocaleString(undefined, style);
}
