import type { Static, TObject } from 'typebox';

/** Of an entry that was read, the fields that an input has: what it would be written as. */
export function pickFields<Input extends TObject>(
  input: Input,
  entry: Static<Input>,
): Static<Input> {
  const fields = Object.entries(entry as object).filter(([name]) => name in input.properties);
  return Object.fromEntries(fields) as Static<Input>;
}
