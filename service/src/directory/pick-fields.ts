import type { Static, TObject } from 'typebox';

/** Picks the fields of an entry that its input schema has. */
export function pickFields<Input extends TObject>(
  input: Input,
  entry: Static<Input>,
): Static<Input> {
  const fields = Object.entries(entry as object).filter(([name]) => name in input.properties);
  return Object.fromEntries(fields) as Static<Input>;
}
