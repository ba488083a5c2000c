import { toUtc } from '../contract/parse-time.ts';

/** An event as a person reads it in a chat channel, before `webhooks/sending/render-message.ts` writes it for a platform. */
export type Message = {
  title: string;
  text: string | null;
  fields: { name: string; value: string }[];
  /** A page about the subject that anybody may open. */
  url: string | null;
  /** What happened: `good` for something new, `info` for a change, `warning` for a limit, `bad` for a loss. */
  color: 'good' | 'info' | 'warning' | 'bad';
};

export type Template<Data> = (data: Data) => Message;

/** The version of the texts and of their layout that events get now (`events.template` in the database). */
export const templateVersion = 1;

type Parts = Pick<Message, 'title'> & Partial<Omit<Message, 'fields' | 'url'>>;
type Values = Record<string, string | number | null | undefined>;

/** Leaves out fields without a value. Events that an earlier release stored may lack some. */
export function message(parts: Parts, values: Values = {}, url?: string | null): Message {
  const fields = Object.entries(values).flatMap(([name, value]) =>
    value === null || value === undefined ? [] : { name, value: String(value) },
  );
  return { text: null, color: 'good', ...parts, fields, url: url ?? null };
}

/** `2026-11-20 12:00 UTC`, from a time in any time zone; null stays null. */
export function timeText(time: string | null | undefined): string | null {
  if (!time) return null;
  return `${toUtc(time).slice(0, 16).replace('T', ' ')} UTC`;
}
