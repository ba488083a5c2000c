import { pageData } from '../page-data.ts';

/** The rest of a sentence on a link that was asked for: `was mailed to ada@example.org`. */
export function whereLinksGo(email: string): string {
  return pageData.signInOptions.password.links === 'terminal'
    ? 'is printed on the terminal where this service runs: it sends no mail'
    : `was mailed to ${email}`;
}
