/** Highlights code with class names instead of inline styles, which the content security policy forbids. */
import { createCssVariablesTheme, createHighlighter } from 'shiki';

const theme = createCssVariablesTheme({
  name: 'css-variables',
  variablePrefix: '--',
  fontStyle: false,
});
const languages = ['sh', 'json', 'ts', 'js', 'python', 'go', 'php', 'sql'] as const;
const highlighter = await createHighlighter({ themes: [theme], langs: [...languages] });

/** The grammar of Python splits `{{url}}`, so marks are words while the highlighter runs. */
const markWord = { of: (name: string) => `zMark${name}Mark`, all: /zMark(\w+?)Mark/g };

export function highlight(code: string, language: string): string {
  const lang = languages.find((each) => each === language);
  if (!lang) return escapeHtml(code);
  const words = code.replace(/\{\{(\w+)\}\}/g, (_, name: string) => markWord.of(name));
  const { tokens } = highlighter.codeToTokens(words, { lang, theme: theme.name ?? '' });
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
