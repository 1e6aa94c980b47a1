import type { OpDefinition, OpParameter } from '../../../../client/schema.ts';
import { html, useState, type View } from '../html.ts';
import { Button, Field, Form, onText, Select } from '../parts/controls.ts';
import type { FormValues } from '../parts/correcting.ts';
import { canBeStep, type WorkOutput, type WorkStep } from './work.ts';

type OpDefinitions = ReadonlyMap<string, OpDefinition>;

interface StepListProps {
  steps: readonly WorkStep[];
  definitions: OpDefinitions;
  onChange: (steps: readonly WorkStep[]) => void;
  /** The error about the work. Its `param` points to a step, such as `steps[2].parameters.width`. */
  error: unknown;
  /** Whether the list may be empty. */
  mayBeEmpty: boolean;
}

/** The parameters that most picture ops have, for reading the input and writing the result. */
const SHARED_PARAMETERS = [
  ...['format', 'quality', 'lossless', 'effort', 'metadata', 'background'],
  ...['frame', 'frames', 'everyNth', 'maxFps', 'maxFrames', 'density'],
];

/** A list of steps. The open step shows its form. */
export function StepList({ steps, definitions, onChange, error, mayBeEmpty }: StepListProps) {
  const [open, setOpen] = useState(0);
  const set = (index: number, step: WorkStep) => onChange(steps.with(index, step));
  const move = (index: number, by: number) => {
    const moved = steps[index];
    const other = steps[index + by];
    if (moved === undefined || other === undefined) return;
    onChange(steps.with(index, other).with(index + by, moved));
    setOpen(index + by);
  };
  const add = () => {
    onChange([...steps, { op: 'sharpen', parameters: {} }]);
    setOpen(steps.length);
  };
  return html`
    <ol class="steps">
      ${steps.map(
        (step, index) => html`<li key=${index} class=${index === open ? 'open' : ''}>
          <div class="step-head">
            <button
              type="button"
              class="step-name"
              aria-expanded=${index === open ? 'true' : 'false'}
              onClick=${() => setOpen(index === open ? -1 : index)}
            >
              <span class="step-number">${index + 1}</span>
              <strong>${step.op}</strong>
              <span class="quiet">${summaryOf(step.parameters)}</span>
            </button>
            ${
              steps.length > 1 &&
              html`
              <${Button} kind="icon" label="Move up" isDisabled=${index === 0} onClick=${() => move(index, -1)}>↑<//>
              <${Button} kind="icon" label="Move down" isDisabled=${index === steps.length - 1} onClick=${() => move(index, 1)}>↓<//>
            `
            }
            ${(mayBeEmpty || steps.length > 1) && html`<${Button} kind="icon" label=${`Remove step ${index + 1}`} onClick=${() => onChange(steps.toSpliced(index, 1))}>✕<//>`}
          </div>
          ${index === open && html`<${StepForm} step=${step} definitions=${definitions} onChange=${(next: WorkStep) => set(index, next)} error=${error} />`}
        </li>`,
      )}
    </ol>
    <${Button} onClick=${add}>Add a step<//>
  `;
}

interface OutputListProps {
  outputs: readonly WorkOutput[];
  definitions: OpDefinitions;
  onChange: (outputs: readonly WorkOutput[]) => void;
  error: unknown;
}

/** Several results of one picture, each made by its own step. */
export function OutputList({ outputs, definitions, onChange, error }: OutputListProps) {
  const set = (index: number, output: WorkOutput) => onChange(outputs.with(index, output));
  const add = () => {
    const parameters = { width: 320 * (outputs.length + 1), format: 'webp' };
    onChange([...outputs, { name: `result-${outputs.length + 1}`, op: 'resize', parameters }]);
  };
  return html`
    <ol class="steps">
      ${outputs.map(
        (output, index) => html`<li key=${index} class="open">
          <div class="step-head">
            <input
              aria-label=${`Name of result ${index + 1}`}
              value=${output.name}
              onInput=${onText((text) => set(index, { ...output, name: text }))}
            />
            <${Button} kind="icon" label=${`Remove ${output.name}`} onClick=${() => onChange(outputs.toSpliced(index, 1))}>✕<//>
          </div>
          <details>
            <summary><strong>${output.op}</strong> <span class="quiet">${summaryOf(output.parameters)}</span></summary>
            <${StepForm}
              step=${output}
              definitions=${definitions}
              onChange=${(step: WorkStep) => set(index, { ...step, name: output.name })}
              error=${error}
            />
          </details>
        </li>`,
      )}
    </ol>
    <${Button} onClick=${add}>Add a result<//>
  `;
}

interface StepFormProps {
  step: WorkStep;
  definitions: OpDefinitions;
  onChange: (step: WorkStep) => void;
  error: unknown;
}

/** The op of a step and its parameters. The parameters that most ops have are collapsed. */
function StepForm({ step: { op, parameters }, definitions, onChange, error }: StepFormProps) {
  const definition = definitions.get(op);
  const choices = [...definitions.values()].filter(canBeStep).map((one) => one.op);
  const [own, shared] = splitParameters(definition?.params ?? {});
  const change = (values: FormValues) => onChange({ op, parameters: values });
  return html`<div class="step-form">
    <${Field} label="Op" hint=${definition?.description}>
      <${Select}
        value=${op}
        choices=${choices}
        onChange=${(chosen: string) => onChange({ op: chosen, parameters: {} })}
      />
    <//>
    <${Form} key=${op} parameters=${own} values=${parameters} onChange=${change} error=${error} />
    ${
      Object.keys(shared).length > 0 &&
      html`<details>
      <summary>Reading and writing: format, quality, metadata, frames</summary>
      <${Form} parameters=${shared} values=${parameters} onChange=${change} error=${error} />
    </details>`
    }
  </div>`;
}

type OpParameters = Readonly<Record<string, OpParameter>>;

/** Splits the parameters into those of the op alone and those that most ops have. */
function splitParameters(parameters: OpParameters): [own: OpParameters, shared: OpParameters] {
  const entries = Object.entries(parameters);
  const own = entries.filter(([name]) => !SHARED_PARAMETERS.includes(name));
  // An op such as `convert` has only parameters that most ops have. In this case, they are not collapsed.
  if (own.length === 0) return [parameters, {}];
  return [
    Object.fromEntries(own),
    Object.fromEntries(entries.filter(([name]) => SHARED_PARAMETERS.includes(name))),
  ];
}

/** The parameters of a step in a few words. */
function summaryOf(parameters: FormValues): View {
  return Object.entries(parameters)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(', ');
}
