/** JSON of others: read without an exception, and without a name that is in one object twice. */
import { cutText } from './cut-text.ts';

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

const quote = 0x22;
const backslash = 0x5c;
/** Of the returned path, which errors repeat. */
const pathCharsMax = 80;

/**
 * Finds a name that occurs twice in one object of a JSON text, and returns where, such as `filters.0.name`, or null. `JSON.parse`
 * keeps the last of the two and other readers the first. `text` has been parsed successfully. Skips from quote to quote, so that
 * a large body costs a fraction of its parsing.
 */
export function findRepeatedName(text: string): string | null {
  /** One entry per enclosing object or array; null for an array. */
  const names: (Set<string> | null)[] = [];
  /** The name or index in each. */
  const path: (string | number)[] = [];
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote:
        start = at;
        at = endOfString(text, at);
        end = at + 1;
        break;
      case 0x3a: {
        // Names are compared after unescaping, because an escape is another way to write the same name.
        const raw = text.slice(start + 1, end - 1);
        const name = raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
        const known = names.at(-1);
        path[path.length - 1] = name;
        if (known?.has(name)) return cutText(path.join('.'), pathCharsMax);
        known?.add(name);
        break;
      }
      case 0x2c:
        if (names.at(-1) === null) path[path.length - 1] = Number(path.at(-1)) + 1;
        break;
      case 0x7b:
        names.push(new Set());
        path.push('');
        break;
      case 0x5b:
        names.push(null);
        path.push(0);
        break;
      case 0x7d:
      case 0x5d:
        names.pop();
        path.pop();
        break;
      default:
    }
  }
  return null;
}

/** The index of the quote that ends the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
}
