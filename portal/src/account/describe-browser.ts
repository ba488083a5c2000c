/** `Firefox on Windows`, as far as a browser says what it is; their order matters, for each says that it is those before it. */
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

export function describeBrowser(userAgent: string | null): string {
  const browser = find(browsers, userAgent) ?? 'Another program';
  const system = find(systems, userAgent);
  return system === null ? browser : `${browser} on ${system}`;
}

function find(known: [RegExp, string][], userAgent: string | null): string | null {
  return known.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1] ?? null;
}
