/** The host of an address, with its port: all of it that may be shown. Empty for an address that is none. */
export function urlHost(url: string): string {
  return URL.parse(url)?.host ?? '';
}
