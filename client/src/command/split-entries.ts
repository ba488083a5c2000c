const start = '"data":[';

/** The entries of a page of the service, as they were sent. */
export function splitEntries(page: string): string[] {
  const from = page.indexOf(start) + start.length;
  const entries: string[] = [];
  let depth = 0;
  let entryFrom = 0;
  const part = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
  part.lastIndex = from;
  for (let found = part.exec(page); found; found = part.exec(page)) {
    const [text] = found;
    if (text === '{' || text === '[') {
      if (depth === 0) entryFrom = found.index;
      depth += 1;
    } else if (text === '}' || text === ']') {
      depth -= 1;
      if (depth < 0) break;
      if (depth === 0) entries.push(page.slice(entryFrom, part.lastIndex));
    }
  }
  return entries;
}
