/** Parses the values of options. For an invalid value commander names the option, and the command exits with 2. */
import { InvalidArgumentError } from 'commander';
import { parseTime } from '../contract/parse-time.ts';

export function parseInteger(least: number, most: number) {
  return (text: string): number => {
    const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

export function parseId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It must be an id, such as 0198f2a4-5b7c-7d3e-9f10-2a3b4c5d6e7f.');
}

export function parseHttpUrl(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an http or https address.');
}

/** A date, which begins in UTC, or a time with its zone. */
export function parseTimeOption(text: string): Date {
  const isDate = /^\d{4}-\d\d-\d\d$/.test(text);
  const withSeconds = text.replace(/(T\d\d:\d\d)(?=Z|[+-])/, '$1:00');
  const time = parseTime(isDate ? `${text}T00:00:00Z` : withSeconds);
  if (time) return time;
  throw new InvalidArgumentError('It must be a time, such as 2027-01-31 or 2027-01-31T12:00:00Z.');
}

/** For an option that may be given several times. */
export function collect(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
