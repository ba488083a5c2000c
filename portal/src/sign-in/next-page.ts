/** Pages whose links have a token behind the `#`. */
const linkPages = /^\/(set-password|change-address|first-account|invitation)\b/i;

/** The page to continue to after sign-in. Always a page of the portal, even if the address was crafted. */
export function nextPage(query: URLSearchParams): string {
  const wanted = query.get('next') ?? '/';
  const here = 'http://portal.invalid';
  // Browsers read `//evil`, `/\evil` and `/⇥/evil` as other hosts.
  const url = wanted.startsWith('/') && URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  // `/.//evil` becomes `//evil`.
  if (url?.origin !== here || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}${linkPages.test(url.pathname) ? '' : url.hash}`;
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
