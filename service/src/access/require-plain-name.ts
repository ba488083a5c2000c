import { nameCharsMax, plainText } from '../contract/shapes.ts';
import { invalid } from '../errors.ts';

const plain = new RegExp(plainText.pattern, 'u');

/** Returns the name of an app or a key without spaces at its ends. Throws `validation_failed`. */
export function requirePlainName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > nameCharsMax)
    throw invalid({ path: 'name', message: `must have 1 to ${nameCharsMax} characters` });
  if (!plain.test(name))
    throw invalid({
      path: 'name',
      message: 'must not have control characters or characters that reverse text',
    });
  return name;
}
