import type { FilterField } from '../parts/filters.ts';

/**
 * The filters of a list of presets or templates, by the account or the service.
 * @param search the label of the search field, which says what is searched.
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
