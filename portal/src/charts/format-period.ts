const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' });
const hourMs = 3_600_000;

/** `14:00–15:00`; with the day if the periods are longer than an hour. */
export function formatPeriod(start: string, hours: number): string {
  const times = `${clock.format(new Date(start))}–${clock.format(new Date(endOf(start, hours)))}`;
  return hours > 1 ? `${day.format(new Date(start))}, ${times}` : times;
}

/** The start of a period, for the axis. */
export function formatTick(start: string, hours: number): string {
  return (hours > 1 ? day : clock).format(new Date(start));
}

export function endOf(start: string, hours: number): string {
  return new Date(Date.parse(start) + hours * hourMs).toISOString();
}
