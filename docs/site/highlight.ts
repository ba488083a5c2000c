/** Highlights code with class names instead of inline styles, which the content security policy forbids. */
import { createCssVariablesTheme, createHighlighterCore } from '@shikijs/core';
import { createOnigurumaEngine } from '@shikijs/engine-oniguruma';
import go from '@shikijs/langs/go';
import js from '@shikijs/langs/js';
import json from '@shikijs/langs/json';
import php from '@shikijs/langs/php';
import python from '@shikijs/langs/python';
import sh from '@shikijs/langs/sh';
import sql from '@shikijs/langs/sql';
import ts from '@shikijs/langs/ts';

const theme = createCssVariablesTheme({
  name: 'css-variables',
  variablePrefix: '--',
  fontStyle: false,
});
const languages = { sh, json, ts, js, python, go, php, sql };
const highlighter = await createHighlighterCore({
  themes: [theme],
  langs: Object.values(languages),
  engine: createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
});

/** The grammar of Python splits `{{url}}`, so marks are words while the highlighter runs. */
const markWord = { of: (name: string) => `zMark${name}Mark`, all: /zMark(\w+?)Mark/g };

export function highlight(code: string, language: string): string {
  if (!Object.hasOwn(languages, language)) return escapeHtml(code);
  const words = code.replace(/\{\{(\w+)\}\}/g, (_, name: string) => markWord.of(name));
  const { tokens } = highlighter.codeToTokens(words, {
    lang: language,
    theme: theme.name ?? '',
  });
  return tokens
    .map((line) =>
      line
        .map(({ content, color }) => {
          const [, kind] = /--token-([a-z]+)/.exec(color ?? '') ?? [];
          const text = escapeHtml(content);
          return kind ? `<span class="${kind}">${text}</span>` : text;
        })
        .join(''),
    )
    .join('\n')
    .replace(markWord.all, '{{$1}}');
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
