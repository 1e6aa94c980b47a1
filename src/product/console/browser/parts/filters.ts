import { html, useEffect, useState } from '../html.ts';
import { takesText } from './handlers.ts';

export interface FilterField {
  /** Its name among the values. */
  name: string;
  label: string;
  /** The kind of filter. `/` moves to the `search` field; `instant` is a time in the reader's time zone. */
  kind: 'search' | 'text' | 'choice' | 'instant';
  /** The options of a choice. The first one means no filter. */
  choices?: readonly { value: string; label: string }[];
  placeholder?: string;
}

interface FiltersProps {
  fields: readonly FilterField[];
  values: Readonly<Record<string, string>>;
  onChange: (change: Record<string, string>) => void;
}

/** Milliseconds that a typed filter waits for the next letter. */
const TYPING_MS = 250;

/** If there are more filters besides the first one, they are folded on phones. */
const MAX_UNFOLDED = 2;

/** The filters of a list. A typed filter takes effect shortly after the last letter. */
export function Filters({ fields, values, onChange }: FiltersProps) {
  const [isOpen, setIsOpen] = useState(false);
  const controlOf = (field: FilterField) => {
    const props = { key: field.name, field, value: values[field.name] ?? '', onChange };
    if (field.kind === 'choice') return html`<${Choice} ...${props} />`;
    return field.kind === 'instant' ? html`<${Instant} ...${props} />` : html`<${Typed} ...${props} />`;
  };
  const [first, ...others] = fields;
  const times = others.filter(({ kind }) => kind === 'instant');
  const folds = others.length > MAX_UNFOLDED;
  const set = others.filter(({ name }) => (values[name] ?? '') !== '').length;
  return html`<search class="filters">
    ${first && controlOf(first)}
    ${
      folds &&
      html`<button
        type="button"
        class="button filters-more"
        aria-expanded=${isOpen ? 'true' : 'false'}
        onClick=${() => setIsOpen(!isOpen)}
      >
        ${set > 0 ? `Filters: ${set} set` : 'Filters'} <span aria-hidden="true">${isOpen ? '▴' : '▾'}</span>
      </button>`
    }
    <div class=${folds && !isOpen ? 'filters-others folded' : 'filters-others'}>
      ${others.filter(({ kind }) => kind !== 'instant').map(controlOf)}
      ${times.length > 0 && html`<div class="filters-times">${times.map(controlOf)}</div>`}
    </div>
  </search>`;
}

/** The filters that are set, in the form that the API takes. */
export function withoutEmpty(filters: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
}

interface FilterProps {
  field: FilterField;
  value: string;
  onChange: (change: Record<string, string>) => void;
}

function Typed({ field: { name, label, kind, placeholder }, value, onChange }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange({ [name]: typed }), TYPING_MS);
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
      onInput=${takesText(setTyped)}
    />
  </label>`;
}

function Choice({ field: { name, label, choices = [] }, value, onChange }: FilterProps) {
  return html`<label class="choice">
    <span>${label}</span>
    <select value=${value} onChange=${takesText((text) => onChange({ [name]: text }))}>
      ${choices.map((choice) => html`<option key=${choice.value} value=${choice.value}>${choice.label}</option>`)}
    </select>
  </label>`;
}

/** A filter by an instant. The address holds it in UTC, so that readers in other time zones see the same. */
function Instant({ field: { name, label }, value, onChange }: FilterProps) {
  const change = takesText((local) =>
    onChange({ [name]: local === '' ? '' : new Date(local).toISOString() }),
  );
  return html`<label class="choice">
    <span>${label}</span>
    <input type="datetime-local" value=${localText(value)} onChange=${change} />
  </label>`;
}

function localText(instant: string): string {
  const date = new Date(instant);
  if (instant === '' || Number.isNaN(date.getTime())) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return local.replace(/:00$/, '');
}
