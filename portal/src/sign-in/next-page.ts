/** Where somebody wanted to go who had to sign in first: a page of the portal, whatever the address says. */
export function nextPage(query: URLSearchParams): string {
  const wanted = query.get('next') ?? '/';
  const here = 'http://portal.invalid';
  // As a browser reads it: `//evil`, `/\evil` and `/⇥/evil` are other hosts to it.
  const url = wanted.startsWith('/') && URL.canParse(wanted, here) ? new URL(wanted, here) : null;
  // `/.//evil` too, once its dots are gone.
  if (url?.origin !== here || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}

/** The address of a page that goes on there. better-auth takes few characters in it, so all others are encoded. */
export function pageBefore(
  next: string,
  page: '/sign-in' | '/sign-up',
  query: Record<string, string> = {},
): string {
  const given = Object.entries({ ...(next !== '/' && { next }), ...query }).map(
    ([name, value]) => `${name}=${encodePlain(value)}`,
  );
  return given.length === 0 ? page : `${page}?${given.join('&')}`;
}

function encodePlain(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*~]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
