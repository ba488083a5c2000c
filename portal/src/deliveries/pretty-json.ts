/**
 * Adds line breaks and indents to JSON. Numbers beyond JavaScript's precision and escapes stay as they are written, and
 * other text as it is.
 */
const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;
const indent = '  ';

export function prettyJson(text: string): string {
  return isJson(text) ? indented(text) : text;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function indented(text: string): string {
  let depth = 0;
  let before = '';
  let out = '';
  for (const [part] of text.matchAll(token)) {
    if (part === '}' || part === ']') {
      depth -= 1;
      if (before !== '{' && before !== '[') out += newLine(depth);
    } else if (before === '{' || before === '[' || before === ',') out += newLine(depth);
    out += part === ':' ? ': ' : part;
    if (part === '{' || part === '[') depth += 1;
    before = part;
  }
  return out;
}

function newLine(depth: number): string {
  return `\n${indent.repeat(Math.max(0, depth))}`;
}
