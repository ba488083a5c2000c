/**
 * Finds a name that occurs twice in one object of a JSON text. `JSON.parse` keeps the last of the two and other readers
 * the first, so they would not see the checked value.
 */

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs;

/** Returns the first such name, or null. `text` is JSON that has been parsed successfully. */
export function findRepeatedName(text: string): string | null {
  /** One entry per enclosing object or array; null for an array. */
  const around: (Set<string> | null)[] = [];
  let latest = '';
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{') around.push(new Set());
    else if (token === '[') around.push(null);
    else if (token === '}' || token === ']') around.pop();
    else if (token === ':') {
      // Compares names after unescaping, because an escape is another way to write the same name.
      const name = JSON.parse(latest) as string;
      const names = around.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    } else latest = token;
  }
  return null;
}
