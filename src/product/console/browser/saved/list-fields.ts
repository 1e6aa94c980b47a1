import type { FilterField } from '../parts/filters.ts';

/**
 * The filters over a list of what is saved, by this account or by the service.
 * @param search the label of the search, which says what it covers.
 */
export function savedListFilters(search: string): readonly FilterField[] {
  const choices = [
    { value: '', label: 'all' },
    { value: 'user', label: 'this account' },
    { value: 'builtin', label: 'the service' },
  ];
  return [
    { name: 'search', label: search, kind: 'search' },
    { name: 'from', label: 'From', kind: 'choice', choices },
  ];
}
