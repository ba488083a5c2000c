/** What each search engine finds of queries whose answer is known. */
import { align, type Figure } from '../../harness/figures.ts';
import type { Engine } from './engines.ts';
import { nonsense, unjudged, type Query } from './queries.ts';

/** `first` and `firstTen` are counts. For nonsense, both count queries for which nothing was found. */
export type Score = {
  engine: string;
  kind: string;
  queries: number;
  first: number;
  firstTen: number;
};

export async function measureQuality(engine: Engine, queries: Query[]): Promise<Score[]> {
  const scores = new Map<string, Score>();
  for (const { kind, text, expected } of queries) {
    const score = scores.get(kind) ?? {
      engine: engine.name,
      kind,
      queries: 0,
      first: 0,
      firstTen: 0,
    };
    scores.set(kind, score);
    const found = await engine.find(text);
    score.queries += 1;
    if (expected === null ? found.length === 0 : found[0] === expected) score.first += 1;
    if (expected === null ? found.length === 0 : found.includes(expected)) score.firstTen += 1;
    console.error(kind, '|', text, '|', expected, found.slice(0, 3));
  }
  return [...scores.values()];
}

const firstAtLeast = 0.88;
const firstTenAtLeast = 0.93;
const kindAtLeast = 0.6;

/** The first scores are ours. */
export function figuresOf(byEngine: Score[][]): Figure[] {
  const [own = [], ...others] = byEngine;
  const share = (score: Score, count: number) => count / score.queries;
  const total = totalOf(own);
  const judged = own.filter(({ kind }) => kind !== unjudged && kind !== nonsense);
  const worst = judged.reduce((a, b) => (a.firstTen / a.queries < b.firstTen / b.queries ? a : b));
  const best = Math.max(...others.map(totalOf).map((score) => share(score, score.firstTen)));
  const silent = own.find(({ kind }) => kind === nonsense) as Score;
  return [
    {
      name: 'first hit',
      reached: share(total, total.first),
      unit: '',
      asked: { atLeast: firstAtLeast },
    },
    {
      name: 'in the first ten',
      reached: share(total, total.firstTen),
      unit: '',
      asked: { atLeast: firstTenAtLeast },
    },
    {
      name: 'worst kind, in the first ten',
      reached: share(worst, worst.firstTen),
      unit: '',
      asked: { atLeast: kindAtLeast },
      note: worst.kind,
    },
    {
      name: 'in the first ten, times the best of the others',
      reached: share(total, total.firstTen) / best,
      unit: '',
      asked: { atLeast: 1 },
    },
    {
      name: 'nonsense for which nothing is found',
      reached: share(silent, silent.firstTen),
      unit: '',
      asked: { atLeast: 1 },
    },
  ];
}

/** All kinds together, except those that are not judged. */
function totalOf(scores: Score[]): Score {
  const total = { engine: scores[0]?.engine ?? '', kind: 'all', queries: 0, first: 0, firstTen: 0 };
  for (const { kind, queries, first, firstTen } of scores) {
    if (kind === unjudged || kind === nonsense) continue;
    total.queries += queries;
    total.first += first;
    total.firstTen += firstTen;
  }
  return total;
}

/** A row per kind, a column per engine: the share of first hits and of hits in the first ten. */
export function showScores(byEngine: Score[][]): string[] {
  const share = (count: number, of: number) => `${Math.round((100 * count) / of)} %`;
  const withTotals = byEngine.map((scores) => [...scores, totalOf(scores)]);
  const rowOf = ({ kind, queries }: Score) => [
    kind,
    String(queries),
    ...withTotals.map((scores) => {
      const score = scores.find((each) => each.kind === kind);
      return score ? `${share(score.first, queries)} · ${share(score.firstTen, queries)}` : '';
    }),
  ];
  const head = ['QUERIES', '', ...byEngine.map(([score]) => score?.engine ?? '')];
  return align([head, ...(withTotals[0] ?? []).map(rowOf)]);
}
