import { Fragment } from 'react';
import classes from './code-block.module.css';

/** Strings (those before a colon are keys), numbers and the words of JSON. */
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/gs;

/** Longer texts stay plain: thousands of elements make scrolling slow. */
const lengthMax = 20_000;

/** JSON in colours. Text that is no JSON stays as it is. */
export function JsonText({ text }: { text: string }) {
  if (text.length > lengthMax) return text;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    const literal = string ?? whole;
    parts.push(
      <Fragment key={match.index}>
        {text.slice(end, match.index)}
        <span className={classes[kindOf(string, colon)]}>{literal}</span>
      </Fragment>,
    );
    end = match.index + literal.length;
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  );
}

function kindOf(string: string | undefined, colon: string | undefined): string {
  if (string === undefined) return 'literal';
  return colon === undefined ? 'string' : 'key';
}
