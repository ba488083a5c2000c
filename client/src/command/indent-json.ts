const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s"{}[\]:,]+/g;

/** Indents JSON and keeps every number as it was written. Any other text stays as it is. */
export function indentJson(text: string): string {
  if (!isJson(text)) return text;
  let indented = '';
  let depth = 0;
  let before = '';
  const newLine = () => `\n${'  '.repeat(depth)}`;
  for (const [part] of text.matchAll(token)) {
    const isEnd = part === '}' || part === ']';
    if (isEnd) depth -= 1;
    const isEmpty = isEnd && (before === '{' || before === '[');
    if ((isEnd && !isEmpty) || (!isEnd && /^[{[,]$/.test(before))) indented += newLine();
    indented += part === ':' ? ': ' : part;
    if (part === '{' || part === '[') depth += 1;
    before = part;
  }
  return indented;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
