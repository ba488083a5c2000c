/**
 * Folds text for search and sorting: lower case, without accents. The service does it, because `lower` and `unaccent`
 * differ between PostgreSQL versions. Stored text was folded by this function, so changing it needs a migration that
 * folds all of it again.
 */

// Letters that Unicode does not decompose into a base letter and a mark.
const undecomposed: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ŧ: 't',
  ĸ: 'k',
};
const undecomposedPattern = new RegExp(`[${Object.keys(undecomposed).join('')}]`, 'g');

const ascii = /^[\0-\x7f]*$/;

export function foldText(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(undecomposedPattern, (letter) => undecomposed[letter] ?? letter);
}

/**
 * The text that `search` looks in: the folded parts, one per line, so that no match spans two of them. Duplicates are
 * removed, because a blueprint often has the name of its output.
 */
export function searchText(...parts: (string | null | undefined)[]): string {
  const lines = parts
    .filter((part) => part)
    .map((part) => foldText(part as string).replaceAll('\n', ' '));
  return [...new Set(lines)].join('\n');
}
