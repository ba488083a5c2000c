/** In this order: a user agent names browsers further down too, for compatibility. */
const browsers: [RegExp, string][] = [
  [/Edg/, 'Edge'],
  [/OPR/, 'Opera'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrome|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
];

/** `Firefox on Windows`, as far as the user agent says. */
export function describeBrowser(userAgent: string | null): string {
  const browser = find(browsers, userAgent) ?? 'Unknown browser';
  const system = find(systems, userAgent);
  return system === null ? browser : `${browser} on ${system}`;
}

function find(known: [RegExp, string][], userAgent: string | null): string | null {
  return known.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1] ?? null;
}
