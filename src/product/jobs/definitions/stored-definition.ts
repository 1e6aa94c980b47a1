import { isDeepStrictEqual } from 'node:util';
import type { Segment } from '../../catalogue/plan/plan.ts';
import type { DefinedVariant, Definition } from './definition.ts';

type StoredParameters = Record<string, unknown>;

/** Parameters as their difference from others that are stored already. */
interface ParameterDelta {
  set: StoredParameters;
  /** Names that the others have and these have not; absent if there are none. */
  without?: string[];
}

type StoredSegment = Exclude<Segment, { runs: 'model' }> | StoredModelSegment;

interface StoredModelSegment extends Omit<Extract<Segment, { runs: 'model' }>, 'parameters'> {
  /**
   * The difference from the parameters of the same segment of the first variant. In the first variant, it is the
   * difference from the parameters of the variant.
   */
  parameters: ParameterDelta;
  /** The schema is the one among the parameters, and stands there alone. */
  hasSentSchema?: true;
}

interface StoredVariant extends Omit<DefinedVariant, 'parameters' | 'segments'> {
  /** The difference from the parameters of the first variant. The first variant has that from those of the job. */
  parameters: ParameterDelta;
  segments: StoredSegment[];
}

interface StoredDefinition extends Omit<Definition, 'variants'> {
  /** Distinguishes it from definitions that were stored whole. */
  form: 'differences';
  variants: StoredVariant[];
}

/**
 * A definition as the text that is stored. Parameters that variants share are in it once: a job of 20 variants with
 * large parameters would otherwise be written 40 times over.
 */
export function textOf(definition: Definition): string {
  const [first] = definition.variants;
  const variants = definition.variants.map((variant): StoredVariant => {
    const isFirst = variant === first;
    const shared = isFirst ? definition.parameters : first?.parameters;
    return {
      ...variant,
      parameters: differenceOf(shared, variant.parameters),
      segments: variant.segments.map((segment, index) => {
        const base = isFirst ? variant.parameters : parametersOf(first?.segments[index]);
        return storedSegment(segment, base);
      }),
    };
  });
  return JSON.stringify({ ...definition, form: 'differences', variants } satisfies StoredDefinition);
}

/** The definition in a stored text. */
export function definitionIn(text: string): Definition {
  const stored = JSON.parse(text) as StoredDefinition | (Definition & { form?: undefined });
  if (stored.form === undefined) return stored;
  const { form: _form, ...definition } = stored;
  const variants: DefinedVariant[] = [];
  for (const variant of stored.variants) {
    const [first] = variants;
    const parameters = merged(first === undefined ? stored.parameters : first.parameters, variant.parameters);
    const segments = variant.segments.map((segment, index) =>
      expandedSegment(segment, first === undefined ? parameters : parametersOf(first.segments[index])),
    );
    variants.push({ ...variant, parameters, segments });
  }
  return { ...definition, variants };
}

function storedSegment(segment: Segment, base: StoredParameters | undefined): StoredSegment {
  if (segment.runs !== 'model') return segment;
  const { schema, ...rest } = segment;
  const isSent = schema !== undefined && isDeepStrictEqual(schema, segment.parameters.schema);
  return {
    ...rest,
    parameters: differenceOf(base, segment.parameters),
    ...(isSent ? { hasSentSchema: true } : schema !== undefined && { schema }),
  };
}

function expandedSegment(segment: StoredSegment, base: StoredParameters | undefined): Segment {
  if (segment.runs !== 'model') return segment;
  const { hasSentSchema, ...rest } = segment;
  const parameters = merged(base, segment.parameters);
  return { ...rest, parameters, ...(hasSentSchema && { schema: parameters.schema as StoredParameters }) };
}

function parametersOf(segment: Segment | undefined): StoredParameters | undefined {
  return segment?.runs === 'model' ? segment.parameters : undefined;
}

function differenceOf(shared: StoredParameters = {}, own: StoredParameters): ParameterDelta {
  const isShared = (name: string) =>
    Object.hasOwn(shared, name) && isDeepStrictEqual(shared[name], own[name]);
  const without = Object.keys(shared).filter((name) => !Object.hasOwn(own, name));
  return {
    set: Object.fromEntries(Object.entries(own).filter(([name]) => !isShared(name))),
    ...(without.length > 0 && { without }),
  };
}

function merged(shared: StoredParameters = {}, { set, without = [] }: ParameterDelta): StoredParameters {
  const kept = Object.entries(shared).filter(([name]) => !without.includes(name));
  return Object.fromEntries([...kept, ...Object.entries(set)]);
}
