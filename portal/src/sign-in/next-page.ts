/** The page that somebody wanted to see before they had to sign in: one of the portal, whatever the address says. */
export function nextPage(query: URLSearchParams): string {
  const wanted = query.get('next') ?? '/';
  const here = 'http://portal.invalid';
  // Browsers read `//evil`, `/\evil` and `/⇥/evil` as other hosts.
  const url = wanted.startsWith('/') && URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  // `/.//evil` becomes `//evil`.
  if (url?.origin !== here || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}

/** The address of a page that continues to `next`. */
export function pageBefore(
  next: string,
  page: '/sign-in' | '/sign-up',
  query: Record<string, string> = {},
): string {
  const text = String(new URLSearchParams({ ...(next !== '/' && { next }), ...query }));
  return text === '' ? page : `${page}?${text}`;
}
