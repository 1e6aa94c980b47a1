import type { Pages } from '../../../../client/answers.ts';
import { html, useEffect, useMemo, useState } from '../html.ts';
import { Button, onText, Select, type SelectOption } from './controls.ts';
import { useKey } from './overlays.ts';
import { type LiveState, type PagedList, usePages, usePoll } from './reading.ts';
import type { Column } from './table.ts';
import { Count, Id, Status, Time } from './values.ts';

export interface FilterField {
  /** The name of the filter among the values. */
  name: string;
  label: string;
  /** The kind of filter. `/` moves to the `search` field; `instant` is a time in the user's time zone. */
  kind: 'search' | 'text' | 'choice' | 'instant';
  /** The options of a choice. The first one means no filter. */
  choices?: readonly SelectOption[];
  placeholder?: string;
}

interface FiltersProps {
  fields: readonly FilterField[];
  values: Readonly<Record<string, string>>;
  onChange: (change: Record<string, string>) => void;
}

const FILTER_DEBOUNCE_MS = 250;

/**
 * The maximum number of filters that phones show besides the first one. If a list has more, phones collapse all of
 * them.
 */
const MAX_UNCOLLAPSED_FILTERS = 2;

/** The filters of a list. A typed filter takes effect shortly after the last letter. */
export function Filters({ fields, values, onChange }: FiltersProps) {
  const [isOpen, setIsOpen] = useState(false);
  const controlOf = (field: FilterField) => {
    const props = { key: field.name, field, value: values[field.name] ?? '', onChange };
    if (field.kind === 'choice') return html`<${ChoiceFilter} ...${props} />`;
    return field.kind === 'instant'
      ? html`<${InstantFilter} ...${props} />`
      : html`<${TextFilter} ...${props} />`;
  };
  const [first, ...others] = fields;
  const times = others.filter(({ kind }) => kind === 'instant');
  const isCollapsible = others.length > MAX_UNCOLLAPSED_FILTERS;
  const set = others.filter(({ name }) => (values[name] ?? '') !== '').length;
  return html`<search class="filters">
    ${first && controlOf(first)}
    ${
      isCollapsible &&
      html`<button
        type="button"
        class="button filters-more"
        aria-expanded=${isOpen ? 'true' : 'false'}
        onClick=${() => setIsOpen(!isOpen)}
      >
        ${set > 0 ? `Filters: ${set} set` : 'Filters'} <span aria-hidden="true">${isOpen ? '▴' : '▾'}</span>
      </button>`
    }
    <div class=${isCollapsible && !isOpen ? 'filters-others folded' : 'filters-others'}>
      ${others.filter(({ kind }) => kind !== 'instant').map(controlOf)}
      ${times.length > 0 && html`<div class="filters-times">${times.map(controlOf)}</div>`}
    </div>
  </search>`;
}

/** The filters that are set, as query fields. Filters with empty values are left out. */
export function withoutEmptyFilters(filters: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
}

interface FilterProps {
  field: FilterField;
  value: string;
  onChange: (change: Record<string, string>) => void;
}

function TextFilter({ field: { name, label, kind, placeholder }, value, onChange }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange({ [name]: typed }), FILTER_DEBOUNCE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`<label class=${kind}>
    <span class="unseen">${label}</span>
    <input
      type="search"
      data-search=${kind === 'search' ? '' : undefined}
      placeholder=${placeholder ?? label}
      value=${typed}
      autocomplete="off"
      spellcheck=${false}
      onInput=${onText(setTyped)}
    />
  </label>`;
}

function ChoiceFilter({ field: { name, label, choices = [] }, value, onChange }: FilterProps) {
  return html`<label class="choice">
    <span>${label}</span>
    <${Select} value=${value} choices=${choices} onChange=${(chosen: string) => onChange({ [name]: chosen })} />
  </label>`;
}

/**
 * A filter by an instant. The address contains the instant in UTC, so that a shared link selects the same rows in every
 * time zone.
 */
function InstantFilter({ field: { name, label }, value, onChange }: FilterProps) {
  const change = onText((local) => onChange({ [name]: local === '' ? '' : new Date(local).toISOString() }));
  return html`<label class="choice">
    <span>${label}</span>
    <input type="datetime-local" value=${localTimeText(value)} onChange=${change} />
  </label>`;
}

function localTimeText(instant: string): string {
  const date = new Date(instant);
  if (instant === '' || Number.isNaN(date.getTime())) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return local.replace(/:00$/, '');
}

/**
 * The filters of a list of presets or templates: a search, and the choice between the account's own and the built-in
 * ones.
 * @param search the label of the search field.
 */
export function savedItemFilters(search: string): readonly FilterField[] {
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

interface ListCountProps {
  /** Undefined while the number is not known. */
  total: number | undefined;
  /** The noun for the rows, in singular and plural. */
  nouns: readonly [one: string, several: string];
  /** The number of selected rows. */
  chosen?: number;
}

/** The number of rows in a list, and the number of selected rows. */
export function ListCount({ total, nouns: [one, several], chosen = 0 }: ListCountProps) {
  return html`<span class="quiet">
    ${total !== undefined && html`<${Count} value=${total} /> ${total === 1 ? one : several}`}
    ${chosen > 0 && html`, <${Count} value=${chosen} /> chosen`}
  </span>`;
}

/** The display options that a list may override in the predefined columns below. */
type ColumnDisplayOptions = Partial<Pick<Column<never>, 'isNumber' | 'isHiddenWhenNarrow' | 'width'>>;

export function idColumn<Row extends { id: string }>(look: ColumnDisplayOptions = {}): Column<Row> {
  const of = ({ id }: Row) => html`<${Id} id=${id} />`;
  return { title: 'Id', isHiddenWhenNarrow: true, width: '13em', of, ...look };
}

/**
 * A column of instants, shown in local time.
 * @param name the field that contains the instant.
 */
export function timeColumn<Row>(
  name: keyof Row & string,
  title: string,
  look: ColumnDisplayOptions = {},
): Column<Row> {
  const of = (row: Row) => html`<${Time} at=${row[name]} />`;
  return { title, isHiddenWhenNarrow: true, width: '14em', of, ...look };
}

/**
 * A column of numbers.
 * @param name the field that contains the number.
 */
export function countColumn<Row>(
  name: keyof Row & string,
  title: string,
  look: ColumnDisplayOptions = {},
): Column<Row> {
  const of = (row: Row) => html`<${Count} value=${row[name]} />`;
  return { title, isNumber: true, isHiddenWhenNarrow: true, of, ...look };
}

export function statusColumn<Row extends { status: string }>(look: ColumnDisplayOptions = {}): Column<Row> {
  const of = ({ status }: Row) => html`<${Status} status=${status} />`;
  return { title: 'Status', width: '9.5em', of, ...look };
}

type LiveList<T> = PagedList<T> & LiveState;

/**
 * A list, newest first. Its first page is read repeatedly: new rows appear at the top, and known rows are updated.
 * Further pages are read when the user scrolls.
 */
export function useLiveList<T>(
  open: (signal: AbortSignal) => Pages<T>,
  deps: readonly unknown[],
  { keyOf, everyMs }: { keyOf: (row: T) => string; everyMs: number },
): LiveList<T> {
  const list = usePages(open, deps);
  const newest = usePoll((signal) => open(signal).first(), deps, everyMs);
  const { isPaused, setPaused, readAt, data } = newest;
  const rows = useMemo(() => withNewestPage(list.rows, data, keyOf), [list.rows, data]);
  const reload = () => {
    list.reload();
    newest.reload();
  };
  const total = data?.meta.total ?? list.total;
  return { ...list, rows, total, error: list.error ?? newest.error, reload, isPaused, setPaused, readAt };
}

/** The rows of the newest page, followed by the older rows that were read before. */
function withNewestPage<T>(
  rows: readonly T[],
  newest: { rows: readonly T[]; meta: { hasMore: boolean } } | undefined,
  keyOf: (row: T) => string,
): readonly T[] {
  if (newest === undefined) return rows;
  const last = newest.rows.at(-1);
  if (last === undefined || !newest.meta.hasMore) return newest.rows;
  const end = rows.findIndex((row) => keyOf(row) === keyOf(last));
  if (end !== -1) return [...newest.rows, ...rows.slice(end + 1)];
  const newestKeys = new Set(newest.rows.map(keyOf));
  return [...newest.rows, ...rows.filter((row) => !newestKeys.has(keyOf(row)))];
}

/** Shows whether a list is updated, and lets the user pause the updates. */
export function LiveSwitch({ isPaused, setPaused, readAt }: LiveState) {
  useKey('p', 'hold the list, or follow again', () => setPaused(!isPaused));
  return html`<span class="live">
    <span class=${isPaused ? 'live-mark held' : 'live-mark'} aria-hidden="true"></span>
    <span class="quiet">${isPaused ? html`As of <${Time} at=${readAt} />` : 'Live'}</span>
    <${Button} kind="link" onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Follow' : 'Pause'}<//>
  </span>`;
}
