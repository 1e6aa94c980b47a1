import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { type CallWarning, warningPerName } from '../../platform/http/hooks/warnings.ts';
import type {
  DeclaredCollection,
  DocumentCollection,
  DocumentStore,
} from '../../platform/stores/documents/port.ts';
import { distinctValues } from '../../platform/values/json.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import type { GivenParameters } from '../catalogue/op.ts';
import type { PresetStep, PromptSubject } from '../catalogue/plan/step.ts';
import { isSandboxModel } from '../models/models.ts';
import type { JobDocument } from './job.ts';
import type { PlanSegment } from './plan.ts';

/** What a job does, fixed when the job is submitted. Later changes of presets, models and prices do not affect it. */
export interface JobDefinition {
  takes: ItemInputKind;
  produces: 'image' | 'json';
  /** The steps as submitted. A resume submits them again. */
  steps?: PresetStep[];
  /** The parameters as submitted. The rows of a render are stored with its items. */
  parameters?: Record<string, unknown>;
  /** The prompt as the model receives it. */
  prompt?: string;
  count: number;
  variants: PricedVariant[];
  subjects: PromptSubject[];
  references: string[];
  /** The template of a render, with the version that was current when the job was submitted. */
  template?: { id: string; version: number };
}

/** What an item takes as its input: an asset, nothing (the item is one of `count` results), or a row of data. */
export type ItemInputKind = 'assets' | 'nothing' | 'rows';

/** A variant of the work, with the segments and the price of one of its items. */
export interface PricedVariant {
  /** The name of the variant, or its index as text; absent if the job has no variants. */
  name?: string;
  /** The parameters of the variant, merged into those of the job. */
  parameters: GivenParameters;
  /** The segments of the work. Empty for a render. */
  segments: PlanSegment[];
  /**
   * Warnings about the steps of the variant. A synchronous call with the same steps would return the same warnings.
   * Absent if there are none.
   */
  warnings?: CallWarning[];
  /** The cost of each segment for one item, in credits. */
  credits: number[];
}

/** The number of runs that one item counts against the allowance: one per pass, or one for a render. */
export function runsPerItem({ segments }: Pick<PricedVariant, 'segments'>): number {
  if (segments.length === 0) return 1;
  return segments.filter(({ runs }) => runs === 'pass').length;
}

/** The sandbox models that run segments of the variants, without duplicates. */
export function sandboxModelsOf(variants: ReadonlyArray<Pick<PricedVariant, 'segments'>>): string[] {
  const models = variants.flatMap(({ segments }) =>
    segments.flatMap((segment) => (segment.runs === 'model' ? segment.model : [])),
  );
  return distinctValues(models.filter(isSandboxModel));
}

/** One warning for each sandbox model that the variants use, because a sandbox model invents its results. */
export function sandboxWarningsOf(variants: ReadonlyArray<Pick<PricedVariant, 'segments'>>): CallWarning[] {
  return warningPerName('sandbox_model', sandboxModelsOf(variants));
}

export function creditsPerVariantItem({ credits }: Pick<PricedVariant, 'credits'>): number {
  return credits.reduce((sum, price) => sum + price, 0);
}

type StoredParameters = Record<string, unknown>;

/** The difference between a set of parameters and its base, which is another set in the same document. */
interface ParameterDelta {
  set: StoredParameters;
  /** The names of the base's parameters that the set lacks; absent if it has all of them. */
  without?: string[];
}

type StoredSegment = Exclude<PlanSegment, { runs: 'model' }> | StoredModelSegment;

interface StoredModelSegment extends Omit<Extract<PlanSegment, { runs: 'model' }>, 'parameters'> {
  /**
   * Stored as a difference from the same segment of the first variant. In the first variant itself, the base is the
   * parameters of the variant.
   */
  parameters: ParameterDelta;
  /**
   * True if the schema equals the segment's parameter `schema`. In this case, it is stored only once, in the
   * parameters.
   */
  hasSentSchema?: true;
}

interface StoredVariant extends Omit<PricedVariant, 'parameters' | 'segments'> {
  /**
   * Stored as a difference from the parameters of the first variant. For the first variant itself, the base is the
   * parameters of the job.
   */
  parameters: ParameterDelta;
  segments: StoredSegment[];
}

interface StoredDefinition extends Omit<JobDefinition, 'variants'> {
  /** Distinguishes this form from that of earlier releases, which stored definitions in full and without this field. */
  form: 'differences';
  variants: StoredVariant[];
}

/**
 * Serializes a definition. Parameters that variants share are stored only once, because a job may have 20 variants with
 * large parameters.
 */
export function serializeDefinition(definition: JobDefinition): string {
  const [first] = definition.variants;
  const variants = definition.variants.map((variant): StoredVariant => {
    const isFirst = variant === first;
    const shared = isFirst ? definition.parameters : first?.parameters;
    return {
      ...variant,
      parameters: parameterDelta(shared, variant.parameters),
      segments: variant.segments.map((segment, index) => {
        const base = isFirst ? variant.parameters : parametersOf(first?.segments[index]);
        return toStoredSegment(segment, base);
      }),
    };
  });
  return JSON.stringify({ ...definition, form: 'differences', variants } satisfies StoredDefinition);
}

function parseDefinition(text: string): JobDefinition {
  const stored = JSON.parse(text) as StoredDefinition | (JobDefinition & { form?: undefined });
  if (stored.form === undefined) return stored;
  const { form: _form, ...definition } = stored;
  const variants: PricedVariant[] = [];
  for (const variant of stored.variants) {
    const [first] = variants;
    const shared = first === undefined ? stored.parameters : first.parameters;
    const parameters = applyParameterDelta(shared, variant.parameters);
    const segments = variant.segments.map((segment, index) =>
      toPlanSegment(segment, first === undefined ? parameters : parametersOf(first.segments[index])),
    );
    variants.push({ ...variant, parameters, segments });
  }
  return { ...definition, variants };
}

function toStoredSegment(segment: PlanSegment, base: StoredParameters | undefined): StoredSegment {
  if (segment.runs !== 'model') return segment;
  const { schema, ...rest } = segment;
  const isSent = schema !== undefined && isDeepStrictEqual(schema, segment.parameters.schema);
  return {
    ...rest,
    parameters: parameterDelta(base, segment.parameters),
    ...(isSent ? { hasSentSchema: true } : schema !== undefined && { schema }),
  };
}

function toPlanSegment(segment: StoredSegment, base: StoredParameters | undefined): PlanSegment {
  if (segment.runs !== 'model') return segment;
  const { hasSentSchema, ...rest } = segment;
  const parameters = applyParameterDelta(base, segment.parameters);
  return { ...rest, parameters, ...(hasSentSchema && { schema: parameters.schema as StoredParameters }) };
}

function parametersOf(segment: PlanSegment | undefined): StoredParameters | undefined {
  return segment?.runs === 'model' ? segment.parameters : undefined;
}

function parameterDelta(shared: StoredParameters = {}, own: StoredParameters): ParameterDelta {
  const isShared = (name: string) =>
    Object.hasOwn(shared, name) && isDeepStrictEqual(shared[name], own[name]);
  const without = Object.keys(shared).filter((name) => !Object.hasOwn(own, name));
  return {
    set: Object.fromEntries(Object.entries(own).filter(([name]) => !isShared(name))),
    ...(without.length > 0 && { without }),
  };
}

function applyParameterDelta(
  shared: StoredParameters = {},
  { set, without = [] }: ParameterDelta,
): StoredParameters {
  const kept = Object.entries(shared).filter(([name]) => !without.includes(name));
  return Object.fromEntries([...kept, ...Object.entries(set)]);
}

/**
 * The stored definition of a job. It is JSON text, because a store may not accept keys that callers choose as field
 * names.
 */
interface DefinitionDocument {
  _id: string;
  accountId: string;
  text: string;
}

export const JOB_DEFINITIONS_COLLECTION: DeclaredCollection = {
  name: 'jobDefinitions',
  indexes: [],
  onAccountDeletion: 'keep',
};

/** The size of the cache of definitions, in characters of their JSON text. */
const MAX_CACHED_CHARACTERS = 16 * MEGABYTE_BYTES;

/** The store of job definitions, with an LRU cache. */
export class JobDefinitions {
  readonly #definitions: DocumentCollection<DefinitionDocument>;
  readonly #cached = new LRUCache<string, JobDefinition>({ maxSize: MAX_CACHED_CHARACTERS });

  constructor(documents: DocumentStore) {
    this.#definitions = documents.collection(JOB_DEFINITIONS_COLLECTION);
  }

  /**
   * Stores the definition of a new job. The definition is also cached, because this process usually works on the job's
   * items.
   */
  async insert({ _id, accountId }: JobDocument, definition: JobDefinition): Promise<void> {
    const text = serializeDefinition(definition);
    this.#cache(_id, text);
    await this.#definitions.insertOne({ _id, accountId, text });
  }

  async find(jobId: string): Promise<JobDefinition> {
    const known = this.#cached.get(jobId);
    if (known !== undefined) return known;
    const stored = await this.#definitions.findOne({ _id: jobId });
    if (stored === null) throw new Error(`The definition of ${jobId} is gone.`);
    return this.#cache(jobId, stored.text);
  }

  async erase(jobId: string): Promise<void> {
    await this.#definitions.deleteOne({ _id: jobId });
  }

  #cache(jobId: string, text: string): JobDefinition {
    const definition = parseDefinition(text);
    this.#cached.set(jobId, definition, { size: Math.max(1, text.length) });
    return definition;
  }
}
