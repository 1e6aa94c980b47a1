import { DarkroomError } from '../../../../client/errors.ts';
import type { OpParameter } from '../../../../client/schema.ts';
import { html, useEffect, useId, useState, type View } from '../html.ts';
import type { FormValues } from './correcting.ts';

interface ButtonProps {
  kind?: 'plain' | 'primary' | 'danger' | 'link' | 'icon';
  /** Whether the button submits its form. */
  submits?: boolean;
  isBusy?: boolean;
  isDisabled?: boolean;
  /** The accessible name, for a button without text. */
  label?: string;
  onClick?: (event: MouseEvent) => void;
  children?: View;
}

/** A button. A busy button cannot be pressed and keeps its width. */
export function Button({
  kind = 'plain',
  submits = false,
  isBusy = false,
  isDisabled = false,
  label,
  onClick,
  children,
}: ButtonProps) {
  return html`<button
    type=${submits ? 'submit' : 'button'}
    class=${`button ${kind}${isBusy ? ' busy' : ''}`}
    aria-label=${label}
    title=${label}
    aria-busy=${isBusy ? 'true' : undefined}
    disabled=${isBusy || isDisabled}
    onClick=${onClick}
  >
    ${children}
  </button>`;
}

interface TabsProps {
  label: string;
  choices: readonly { name: string; label: View }[];
  current: string;
  onChoose: (name: string) => void;
}

/** Tabs for several views. The arrow keys move between them. */
export function Tabs({ label, choices, current, onChoose }: TabsProps) {
  const group = useId();
  return html`<div class="tabs" role="radiogroup" aria-label=${label}>
    ${choices.map(
      (choice) => html`<label key=${choice.name} class=${choice.name === current ? 'current' : ''}>
        <input
          type="radio"
          name=${group}
          value=${choice.name}
          checked=${choice.name === current}
          onChange=${() => onChoose(choice.name)}
        />
        ${choice.label}
      </label>`,
    )}
  </div>`;
}

/** An option of a select: its value, and its label if that differs. */
export type SelectOption = string | { value: string; label: string };

interface SelectProps {
  choices: readonly SelectOption[];
  onChange?: (value: string) => void;
  /** Other attributes of the element, such as its value. */
  [attribute: string]: unknown;
}

/** A drop-down list. */
export function Select({ choices, onChange, ...attributes }: SelectProps) {
  return html`<select ...${attributes} onChange=${onChange && onText(onChange)}>
    ${choices.map((choice) => {
      const { value, label } = typeof choice === 'string' ? { value: choice, label: choice } : choice;
      return html`<option key=${value} value=${value}>${label}</option>`;
    })}
  </select>`;
}

interface FieldProps {
  label: View;
  hint?: View;
  error?: View;
  children?: View;
}

/** A form control with its label above and a hint below. */
export function Field({ label, hint, error, children }: FieldProps) {
  return html`<div class=${error === undefined ? 'field' : 'field wrong'}>
    <label>
      <span class="field-name">${label}</span>
      ${children}
    </label>
    ${hint && html`<span class="hint">${hint}</span>`}
    ${error !== undefined && html`<span class="field-error" role="alert">${error}</span>`}
  </div>`;
}

interface FormProps {
  /** The parameters of an op, in the form of GET /ops. */
  parameters: Readonly<Record<string, OpParameter>>;
  values: FormValues;
  onChange: (values: FormValues) => void;
  /** The error about the values. Its message is shown beside the field that is at fault. */
  error?: unknown;
}

export function Form({ parameters, values, onChange, error }: FormProps) {
  return html`<div class="form">
    ${Object.entries(parameters).map(([name, parameter]) => {
      const change = (value: unknown) => {
        const { [name]: _, ...others } = values;
        onChange(value === undefined ? others : { ...values, [name]: value });
      };
      return html`<${Field}
        key=${name}
        label=${html`<code>${name}</code>`}
        hint=${html`${boundsText(parameter)}${parameter.description}`}
        error=${errorMessageAt(error, name)}
      >
        <${ParameterControl} name=${name} parameter=${parameter} value=${values[name]} onChange=${change} />
      <//>`;
    })}
  </div>`;
}

/** The message of an error about this field, even if the error names it within a list of steps. */
export function errorMessageAt(error: unknown, name: string): string | undefined {
  if (!(error instanceof DarkroomError) || error.param === undefined) return undefined;
  const named = error.param.split('.').at(-1);
  return named === name ? error.message : undefined;
}

function boundsText({ min, max, type }: OpParameter): string {
  const isNumber = /number|integer/.test(type);
  const unit = isNumber
    ? ''
    : type.includes('string')
      ? ' characters'
      : type.includes('array')
        ? ' entries'
        : '';
  if (min !== undefined && max !== undefined) return `${min} to ${max}${unit}. `;
  if (max !== undefined) return `At most ${max}${unit}. `;
  return min === undefined ? '' : `At least ${min}${unit}. `;
}

interface ControlProps {
  name: string;
  parameter: OpParameter;
  value: unknown;
  onChange: (value: unknown) => void;
}

function ParameterControl(props: ControlProps) {
  const { name, parameter, value, onChange } = props;
  const { type, enum: choices, default: fallback } = parameter;
  const placeholder = fallback === undefined ? '' : String(fallback);
  if (type === 'boolean' || (choices !== undefined && type !== 'array')) {
    const options = choices ?? [true, false];
    const isMixed = /number|integer/.test(type) && choices !== undefined && /string/.test(type);
    if (!isMixed)
      return html`<${Select}
        name=${name}
        value=${value === undefined ? '' : String(value)}
        choices=${[{ value: '', label: placeholder === '' ? 'not set' : `not set: ${placeholder}` }, ...options.map(String)]}
        onChange=${(chosen: string) => onChange(options.find((option) => String(option) === chosen))}
      />`;
  }
  if (type === 'integer' || type === 'number') return html`<${NumberControl} ...${props} />`;
  return html`<${TextControl} ...${props} />`;
}

/** A number field. A slider is added if both bounds exist and the range is small. */
function NumberControl({ name, parameter, value, onChange }: ControlProps) {
  const { type, min, max, default: fallback } = parameter;
  const hasSlider = min !== undefined && max !== undefined && max - min <= MAX_SLIDER_RANGE;
  const step = type === 'integer' ? 1 : (max ?? 1) - (min ?? 0) > 10 ? 0.1 : 0.01;
  const change = (event: Event) => {
    const { valueAsNumber } = event.target as HTMLInputElement;
    onChange(Number.isNaN(valueAsNumber) ? undefined : valueAsNumber);
  };
  const bounds = { min, max, onInput: change };
  const number = html`<input
    type="number"
    name=${name}
    aria-label=${hasSlider ? name : undefined}
    step=${type === 'integer' ? 1 : 'any'}
    value=${value ?? ''}
    placeholder=${fallback ?? ''}
    ...${bounds}
  />`;
  if (!hasSlider) return number;
  return html`<span class=${value === undefined ? 'with-slider unset' : 'with-slider'}>
    <input type="range" aria-label=${`${name}, as a slider`} step=${step} value=${value ?? fallback ?? min} ...${bounds} />
    ${number}
  </span>`;
}

const MAX_SLIDER_RANGE = 400;

/** A text field. A value that is not text is edited as JSON; invalid JSON stays as typed. */
function TextControl({ name, parameter, value, onChange }: ControlProps) {
  const { type, enum: choices, default: fallback } = parameter;
  const isText = type.includes('string');
  const textOfValue = (given: unknown) =>
    given === undefined ? '' : typeof given === 'object' ? JSON.stringify(given) : String(given);
  const [typed, setTyped] = useState(textOfValue(value));
  useEffect(() => {
    if (JSON.stringify(parseTypedValue(typed, type)) !== JSON.stringify(value)) setTyped(textOfValue(value));
  }, [value]);
  const change = onText((text) => {
    setTyped(text);
    onChange(parseTypedValue(text, type));
  });
  const isLong = isText && /\n/.test(typed);
  const options = choices?.length ? choices.join(', ') : '';
  const placeholder = fallback === undefined ? options : String(fallback);
  if (isLong) return html`<textarea name=${name} rows="4" value=${typed} onInput=${change}></textarea>`;
  const input = { name, value: typed, placeholder, autocomplete: 'off', spellcheck: false, onInput: change };
  return html`<input ...${input} />`;
}

/** Parses typed text: empty text is undefined, and JSON is parsed if the type requires it. */
function parseTypedValue(text: string, type: string): unknown {
  if (text === '') return undefined;
  if (type === 'string') return text;
  try {
    const value = JSON.parse(text);
    return typeof value === 'string' && type.includes('string') ? text : value;
  } catch {
    return text;
  }
}

/** Makes an event handler that calls `take` with the text or the choice in the field. */
export function onText(take: (text: string) => unknown): (event: Event) => void {
  return ({ target }) => void take((target as HTMLInputElement).value);
}

/**
 * Makes a submit handler that calls `act` with the fields of the form, instead of letting the browser send the form.
 */
export function onSubmitFields(act: (fields: FormData) => unknown): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault();
    act(new FormData(event.target as HTMLFormElement));
  };
}
