/**
 * Finds a name that stands twice in one object of a JSON text. `JSON.parse` keeps the last of the two, other readers
 * keep the first: what was checked would not be what they see.
 */

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** The first such name, or null. `text` is JSON that was parsed before. */
export function findRepeatedName(text: string): string | null {
  /** One for each object or array around; null: an array. */
  const around: (Set<string> | null)[] = [];
  let latest = '';
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{') around.push(new Set());
    else if (token === '[') around.push(null);
    else if (token === '}' || token === ']') around.pop();
    else if (token === ':') {
      // As read, not as written: an escape is another way to write the same name.
      const name = JSON.parse(latest) as string;
      const names = around.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    } else latest = token;
  }
  return null;
}
