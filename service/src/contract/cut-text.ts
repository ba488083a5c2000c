import { startOf } from './texts.ts';

/** Shortens a text. PostgreSQL can store the result: it has no NUL and no lone surrogate. */
export function cutText(text: string, lengthMax: number): string {
  const cut = text.length > lengthMax ? `${startOf(text, lengthMax)}…` : text;
  return cut.toWellFormed().replaceAll('\0', '\uFFFD');
}
