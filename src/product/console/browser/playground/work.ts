import type { OpDefinition } from '../../../../client/schema.ts';
import type { FormValues } from '../parts/correcting.ts';

/** An op with its parameters, as in a list of steps. */
export interface WorkStep {
  op: string;
  parameters: FormValues;
}

/** A step that makes one of several results. */
export interface WorkOutput extends WorkStep {
  name: string;
}

/** The work of the playground, with or without a picture. */
export type PlaygroundWork =
  /** Steps in sequence. If there are outputs, each of them continues from the last step. */
  | { kind: 'steps'; steps: readonly WorkStep[]; outputs: readonly WorkOutput[] }
  | { kind: 'preset'; slug: string }
  | { kind: 'template'; id: string; data: FormValues }
  /** An op that reads data from a picture, or runs a model. */
  | { kind: 'op'; op: string; values: FormValues };

/** The query fields of the console's address that contain the work, with their defaults. */
export const EMPTY_WORK_QUERY = { steps: '', outputs: '', preset: '', template: '', op: '', values: '' };
type WorkFields = typeof EMPTY_WORK_QUERY;

const INITIAL_WORK: PlaygroundWork = {
  kind: 'steps',
  steps: [{ op: 'resize', parameters: { width: 600, format: 'webp' } }],
  outputs: [],
};

/** Parses the work from the query of an address. */
export function parseWork({ steps, outputs, preset, template, op, values }: WorkFields): PlaygroundWork {
  if (preset !== '') return { kind: 'preset', slug: preset };
  if (template !== '') return { kind: 'template', id: template, data: parseJsonOr<FormValues>(values, {}) };
  if (op !== '') return { kind: 'op', op, values: parseJsonOr<FormValues>(values, {}) };
  if (steps === '' && outputs === '') return INITIAL_WORK;
  return {
    kind: 'steps',
    steps: parseJsonOr<Partial<WorkStep>[]>(steps, []).map(withStepDefaults),
    outputs: parseJsonOr<Partial<WorkOutput>[]>(outputs, []).map((one, index) => ({
      ...withStepDefaults(one),
      name: one.name ?? `result-${index + 1}`,
    })),
  };
}

/** Serializes the work to the query of an address. */
export function workFieldsOf(work: PlaygroundWork): WorkFields {
  switch (work.kind) {
    case 'steps':
      return {
        ...EMPTY_WORK_QUERY,
        steps: JSON.stringify(work.steps),
        outputs: work.outputs.length === 0 ? '' : JSON.stringify(work.outputs),
      };
    case 'preset':
      return { ...EMPTY_WORK_QUERY, preset: work.slug };
    case 'template':
      return { ...EMPTY_WORK_QUERY, template: work.id, values: JSON.stringify(work.data) };
    case 'op':
      return { ...EMPTY_WORK_QUERY, op: work.op, values: JSON.stringify(work.values) };
  }
}

/** The initial work for an op: the op with the parameters of its example. */
export function initialWorkOf(definition: OpDefinition): PlaygroundWork {
  const { op, syncExample = {}, example = {} } = definition;
  if (canBeStep(definition)) {
    const { op: _, ...parameters } = syncExample;
    return { kind: 'steps', steps: [{ op, parameters }], outputs: [] };
  }
  return definition.kind === 'ai' ? workOfJob({ ...example, op }) : { kind: 'op', op, values: {} };
}

/** The work of the playground for a job that runs one op. */
export function workOfJob({ op, assetIds: _, parameters = {}, ...fields }: FormValues): PlaygroundWork {
  return { kind: 'op', op: String(op), values: { ...fields, ...(parameters as FormValues) } };
}

/**
 * The only step of the work, if it can be sent with its parameters in the query. Undefined for several steps, and for a
 * step that reads a second picture.
 */
export function findLoneStep(work: Extract<PlaygroundWork, { kind: 'steps' }>): WorkStep | undefined {
  const { steps, outputs } = work;
  const [only, ...others] = steps;
  const isAlone = others.length === 0 && outputs.length === 0;
  return only !== undefined && isAlone && !('layerAssetId' in only.parameters) ? only : undefined;
}

/** Whether the op can be one of several steps of a synchronous call. It must take a picture and return one. */
export function canBeStep({ kind, syncEndpoint, endpoint, params }: OpDefinition): boolean {
  if (syncEndpoint === '/images/transform') return true;
  return (
    kind === 'deterministic' &&
    syncEndpoint === undefined &&
    endpoint === undefined &&
    'layerAssetId' in params
  );
}

export function needsPicture(work: PlaygroundWork, definition: OpDefinition | undefined): boolean {
  if (work.kind === 'template') return false;
  return (
    work.kind !== 'op' || definition === undefined || definition.kind !== 'ai' || definition.requiresAssets
  );
}

/** Fills in the fields that a step lacks. The step may come from an address or a preset. */
export function withStepDefaults({ op = '', parameters = {} }: Partial<WorkStep>): WorkStep {
  return { op, parameters };
}

function parseJsonOr<T>(text: string, fallback: T): T {
  try {
    return JSON.parse(text) ?? fallback;
  } catch {
    return fallback;
  }
}

/** The fields of a job's body that are not parameters of its op. */
const JOB_FIELDS = [
  'prompt',
  'model',
  'count',
  'templateId',
  'items',
  'subjects',
  'collection',
  'variants',
  'maxCredits',
];

/** The body of a job that runs an op. The assets are added by the caller. */
export function jobRequestOf(op: string, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(values);
  const parameters = Object.fromEntries(entries.filter(([name]) => !JOB_FIELDS.includes(name)));
  const fields = Object.fromEntries(entries.filter(([name]) => JOB_FIELDS.includes(name)));
  return { op, ...fields, ...(Object.keys(parameters).length > 0 && { parameters }) };
}
