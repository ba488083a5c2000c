/** The beginning of a text, for a message. Whatever the text, PostgreSQL can store it: no half of a character is left at the cut. */
export function cutText(text: string, lengthMax: number): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
  return cut.toWellFormed().replaceAll('\0', '\uFFFD');
}
