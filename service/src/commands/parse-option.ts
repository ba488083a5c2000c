/** Parses the values of options. For an invalid value commander names the option, and the command exits with 2. */
import { InvalidArgumentError } from 'commander';

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
export function parseTime(text: string): Date {
  const form = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;
  const time = new Date(form.test(text) ? text : Number.NaN);
  // `Date` reads 31 February as a day in March.
  const exists = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10));
  if (!Number.isNaN(time.getTime()) && exists) return time;
  throw new InvalidArgumentError('It must be a time, such as 2027-01-31 or 2027-01-31T12:00:00Z.');
}

/** For an option that may be given several times. */
export function collect(text: string, earlier: string[] | undefined): string[] {
  return [...(earlier ?? []), text];
}
