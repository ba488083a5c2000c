/**
 * Names, payloads and reasons come from others, who must not control the reader's terminal, end a log line or reverse
 * text. Control characters, line separators and bidirectional controls become JSON escapes.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** For text of several lines. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

/** JSON on one line. When parsed, it has the same value as without the escapes. */
export function toJsonLine(value: unknown): string {
  return escapeControls(JSON.stringify(value));
}
