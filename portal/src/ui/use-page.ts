import { useSearchParams } from 'react-router';

/** Keeps the page number of a list in the address, so that the Back button and shared links work. */
export function usePage(): [page: number, go: (page: number) => void] {
  const [query, setQuery] = useSearchParams();
  const asked = Number(query.get('page') ?? 1);
  const go = (page: number) =>
    setQuery((before) => {
      const after = new URLSearchParams(before);
      if (page === 1) after.delete('page');
      else after.set('page', String(page));
      return after;
    });
  return [Number.isSafeInteger(asked) && asked > 0 ? asked : 1, go];
}
