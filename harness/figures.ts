/** A figure of a benchmark, with its target. */
export type Figure = {
  name: string;
  reached: number;
  unit: string;
  /** The target, and which side of it is good. */
  asked: { atLeast: number } | { atMost: number };
  note?: string;
};

export function isReached({ reached, asked }: Figure): boolean {
  return 'atLeast' in asked ? reached >= asked.atLeast : reached <= asked.atMost;
}

/** Prints a table for people, then one line of JSON. */
export function printFigures(figures: Figure[]): void {
  const rows = figures.map((figure) => [
    figure.name,
    `${show(figure.reached)} ${figure.unit}`.trim(),
    'atLeast' in figure.asked ? `>= ${figure.asked.atLeast}` : `<= ${figure.asked.atMost}`,
    isReached(figure) ? 'yes' : 'NO',
    figure.note ?? '',
  ]);
  for (const line of align([['FIGURE', 'REACHED', 'ASKED', 'OK', ''], ...rows])) console.log(line);
  console.log(
    JSON.stringify({
      ok: figures.every(isReached),
      figures: figures.map((figure) => ({
        name: figure.name,
        reached: Number(show(figure.reached)),
        unit: figure.unit,
        ...figure.asked,
        ok: isReached(figure),
      })),
    }),
  );
}

export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

function show(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}

export function align(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
