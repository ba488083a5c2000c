/** A language tag in the form that BCP 47 recommends (`pt-BR`): tags have no case, so one form is stored and looked for. */
export function canonicalLanguage(tag: string): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? tag;
  } catch {
    // No tag at all: looked for as it is, and found nowhere.
    return tag;
  }
}
