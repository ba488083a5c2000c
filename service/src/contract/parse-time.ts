import type { Static, TObject } from 'typebox';

/** Parses the times of requests, imports and events: RFC 3339, section 5.6. */
const rfc3339 =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const minuteMs = 60_000;
const dayMs = 86_400_000;
const firstMs = Date.parse('0001-01-01T00:00:00.000Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Null for anything else, and outside the years 1 to 9999 in UTC. A leap second, which is only valid at 23:59:60 UTC,
 * is read as the first moment of the next day. Fractions are rounded to milliseconds.
 */
export function parseTime(text: string): Date | null {
  const match = rfc3339.exec(text);
  if (!match) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const [, , , , , , , fraction = '0', sign, offsetHour = '0', offsetMinute = '0'] = match;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 60) return null;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null;
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -1 : 1);
  const startOfMinute = utc(year, month, day, hour, minute) - offset * minuteMs;
  if (second === 60 && (startOfMinute + minuteMs) % dayMs !== 0) return null;
  const ms =
    startOfMinute + second * 1000 + (second === 60 ? 0 : Math.round(Number(`0${fraction}`) * 1000));
  return ms >= firstMs && ms <= lastMs ? new Date(ms) : null;
}

/** The same time as JavaScript and PostgreSQL write it, for a text that was validated. */
export function toUtc(time: string): string {
  return requireTime(time).toISOString();
}

/** For a text that was validated. */
export function requireTime(text: string): Date {
  const time = parseTime(text);
  if (!time) throw new Error('the time was not validated');
  return time;
}

/** A minute is left for clocks that differ. */
export function isFuture(time: Date): boolean {
  return time.getTime() > Date.now() + minuteMs;
}

/** Unlike `Date.UTC`, reads the years 0 to 99 as they are. */
function utc(year: number, month: number, day: number, hour = 0, minute = 0): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.setUTCHours(hour, minute);
}

function daysIn(year: number, month: number): number {
  return new Date(utc(year, month + 1, 0)).getUTCDate();
}

type AsText<Value> = Value extends Date ? string : Value;
type AsDate<Value> = Value extends string ? Date : Value;

/** A row with its times as the contract has them. */
export type TextTimes<Row> = { [Name in keyof Row]: AsText<Row[Name]> };

/** An object of the contract as its row is read: the times, which have names like `createdAt`, are a `Date`. */
export type Dated<Contract> = {
  [Name in keyof Contract]: Name extends `${string}At` ? AsDate<Contract[Name]> : Contract[Name];
};

/** Writes the times of a row as text. */
export function withTextTimes<Row extends object>(row: Row): TextTimes<Row> {
  const fields = Object.entries(row).map(([name, value]: [string, unknown]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(fields) as TextTimes<Row>;
}

/** The object of the contract that a row has among its columns. */
export function fromRow<Schema extends TObject>(
  { properties }: Schema,
  row: Dated<Static<Schema>>,
): Static<Schema> {
  const own = Object.entries(row).filter(([name]) => name in properties);
  return withTextTimes(Object.fromEntries(own)) as Static<Schema>;
}
