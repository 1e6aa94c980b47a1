import type { OpDefinition, PresetData, TemplateSummary } from '../../../../client/schema.ts';
import { html, type View } from '../html.ts';
import { Field, Form } from '../parts/controls.ts';
import type { FormValues } from '../parts/correcting.ts';
import { parametersOfVariables } from '../saved/row.ts';
import { OutputList, StepList } from './steps.ts';
import { initialWorkOf, type PlaygroundWork } from './work.ts';

/** The ops, presets and templates that the playground offers. */
export interface Offer {
  definitions: ReadonlyMap<string, OpDefinition>;
  presets: readonly PresetData[];
  templates: readonly TemplateSummary[];
}

/** Choices of the picker under one title. */
type ChoiceGroup = readonly [title: string, options: readonly (readonly [value: string, label: string])[]];

interface WorkPickerProps {
  work: PlaygroundWork;
  offer: Offer;
  onPick: (work: PlaygroundWork) => void;
}

/** A drop-down list of ops, presets and templates. */
export function WorkPicker({ work, offer, onPick }: WorkPickerProps) {
  const { definitions, presets, templates } = offer;
  const ops = [...definitions.values()].filter(({ op }) => op !== 'render_template');
  const groups: readonly ChoiceGroup[] = [
    [
      'Ops on a picture',
      optionsOf(ops.filter(({ kind, produces }) => kind !== 'ai' && produces === 'image')),
    ],
    ['Models', optionsOf(ops.filter(({ kind }) => kind === 'ai'))],
    ['Reading', optionsOf(ops.filter(({ kind, produces }) => kind !== 'ai' && produces === 'json'))],
    ['Presets', presets.map(({ slug, name }) => [`preset:${slug}`, name] as const)],
    ['Templates', templates.map(({ id, name }) => [`template:${id}`, name] as const)],
  ];
  const pick = (event: Event) => {
    const [, kind, name = ''] = /^(\w+):(.*)$/.exec((event.target as HTMLSelectElement).value) ?? [];
    const definition = definitions.get(name);
    if (kind === 'preset') onPick({ kind: 'preset', slug: name });
    else if (kind === 'template') onPick({ kind: 'template', id: name, data: {} });
    else if (definition !== undefined) onPick(initialWorkOf(definition));
  };
  return html`<${Field} label="What to do">
    <select value=${optionValueOf(work)} onChange=${pick} data-search="">
      ${groups.map(
        ([title, options]) => html`<optgroup key=${title} label=${title}>
          ${options.map(([value, label]) => html`<option key=${value} value=${value}>${label}</option>`)}
        </optgroup>`,
      )}
    </select>
  <//>`;
}

function optionsOf(definitions: readonly OpDefinition[]) {
  return definitions.map(({ op }) => [`op:${op}`, op] as const);
}

/**
 * The option of the drop-down list that represents the work: its op, preset or template. For several steps or outputs,
 * it is the op of the first one.
 */
function optionValueOf(work: PlaygroundWork): string {
  if (work.kind === 'preset') return `preset:${work.slug}`;
  if (work.kind === 'template') return `template:${work.id}`;
  return `op:${work.kind === 'op' ? work.op : ((work.steps[0] ?? work.outputs[0])?.op ?? '')}`;
}

interface WorkFormProps {
  work: PlaygroundWork;
  offer: Offer;
  error: unknown;
  onChange: (work: PlaygroundWork) => void;
}

export function WorkForm({ work, offer, error, onChange }: WorkFormProps): View {
  const { definitions } = offer;
  switch (work.kind) {
    case 'preset': {
      const preset = offer.presets.find(({ slug }) => slug === work.slug);
      return html`<p class="quiet">${preset?.description}</p>
        <p><a href=${`/console/presets/${work.slug}`}>See its steps</a></p>`;
    }
    case 'template':
      return html`<${DataRowForm} work=${work} offer=${offer} onChange=${onChange} />`;
    case 'op': {
      const definition = definitions.get(work.op);
      const { assetIds: _, ...parameters } = definition?.syncParams ?? definition?.params ?? {};
      return html`<p class="quiet">${definition?.description}</p>
        <${Form}
          key=${work.op}
          parameters=${parameters}
          values=${work.values}
          onChange=${(values: FormValues) => onChange({ ...work, values })}
          error=${error}
        />`;
    }
    case 'steps': {
      const isSeveral = work.outputs.length > 0;
      const toggle = () => onChange(isSeveral ? withOneResult(work) : withSeveralResults(work));
      return html`
        <${StepList}
          steps=${work.steps}
          definitions=${definitions}
          mayBeEmpty=${isSeveral}
          error=${error}
          onChange=${(steps: typeof work.steps) => onChange({ ...work, steps })}
        />
        <label class="check quiet">
          <input type="checkbox" checked=${isSeveral} onChange=${toggle} />
          <span>Make several results of it, with one upload and one decoding</span>
        </label>
        ${
          isSeveral &&
          html`<${OutputList}
          outputs=${work.outputs}
          definitions=${definitions}
          error=${error}
          onChange=${(outputs: typeof work.outputs) => onChange({ ...work, outputs })}
        />`
        }
      `;
    }
  }
}

type Steps = Extract<PlaygroundWork, { kind: 'steps' }>;

/**
 * Splits the work into two outputs. Each output has its own scaling step, because a common scaling step would limit the
 * size of both.
 */
function withSeveralResults(work: Steps): Steps {
  const [only] = work.steps;
  return {
    ...work,
    steps: work.steps.length === 1 && only?.op === 'resize' ? [] : work.steps,
    outputs: [
      { name: 'small', op: 'resize', parameters: { width: 320, format: 'webp' } },
      { name: 'large', op: 'resize', parameters: { width: 960, format: 'webp' } },
    ],
  };
}

/** Joins several outputs into one result. If there are no common steps, the step of the first output is used. */
function withOneResult({ steps, outputs, ...work }: Steps): Steps {
  const first = outputs.slice(0, 1).map(({ op, parameters }) => ({ op, parameters }));
  return { ...work, steps: steps.length > 0 ? steps : first, outputs: [] };
}

/** A form with one field per variable of a template. */
function DataRowForm({
  work,
  offer,
  onChange,
}: {
  work: Extract<PlaygroundWork, { kind: 'template' }>;
  offer: Offer;
  onChange: (work: PlaygroundWork) => void;
}) {
  const template = offer.templates.find(({ id }) => id === work.id);
  const parameters = parametersOfVariables(template?.variables ?? []);
  return html`<p class="quiet">${template?.description}</p>
    <${Form}
      key=${work.id}
      parameters=${parameters}
      values=${work.data}
      onChange=${(data: FormValues) => onChange({ ...work, data })}
    />
    <p><a href=${`/console/templates/${work.id}`}>Edit this template</a></p>`;
}
