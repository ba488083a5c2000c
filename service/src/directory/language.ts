/** Normalises a language tag (`pt-BR`): tags ignore case, so one form is stored and searched for. */
export function canonicalLanguage(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    // A malformed tag stays as it is and finds nothing.
    return tag;
  }
}
