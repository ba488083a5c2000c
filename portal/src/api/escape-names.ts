/** Text that people gave things, some of it before the service refused characters that reverse or hide what is around them. */
const names = new Set(['name', 'appName', 'before', 'description']);

/** For `JSON.parse`: shows such characters in names as escapes. */
export function escapeNames(key: string, value: unknown): unknown {
  return typeof value === 'string' && names.has(key) ? escapeControls(value) : value;
}

export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
