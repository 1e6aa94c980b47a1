import type { TProperties } from '@sinclair/typebox';
import { FRAME_SELECTORS } from '../../../workers/image/frames.ts';
import {
  argumentsSchema,
  createDefaultsFiller,
  type FilledArguments,
  type RequestedArguments,
} from '../../../workers/image/operations/arguments.ts';
import { OPERATIONS, type StepArguments, type StepName } from '../../../workers/image/operations/index.ts';
import type { StepOperation } from '../../../workers/image/operations/operation.ts';
import type { EncodeOptions, OperationStep } from '../../../workers/protocol.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import {
  type CheckedParameters,
  type GivenParameters,
  type ParameterViolation,
  type PixelOp,
  TRANSFORM_ENDPOINT,
} from './op.ts';
import {
  checkPassParameters,
  decodeAndEncodeOptionsOf,
  PASS_PARAMETERS,
  type PassParameters,
} from './parameters.ts';

type SharedParameters<P extends TProperties> = Omit<PassParameters, keyof P>;

/** What an op on pixels has to define. `definePixelOp` adds what all such ops share. */
interface PixelOpDefinition<N extends string, P extends TProperties> {
  op: N;
  example: RequestedArguments<P> & SharedParameters<P>;
  findInvalidParameter?(given: RequestedArguments<P> & SharedParameters<P>): ParameterViolation | undefined;
}

/** The definition of an op with its parameters, and with the function that compiles them to steps. */
interface CompilablePixelOp<N extends string, P extends TProperties, S extends StepOf<object>>
  extends PixelOpDefinition<N, P> {
  description: string;
  /** The parameter that names a second picture. Such an op has no synchronous form of its own. */
  readsSecondAsset?: string | undefined;
  /** The op's own parameters. They replace a shared parameter of the same name. */
  parameters: P;
  /** Compiles the op to its steps, and to encoder settings beyond the shared parameters. Defaults are filled in. */
  compile: (params: FilledArguments<P> & SharedParameters<P>) => {
    steps?: readonly S[];
    encode?: EncodeOptions;
  };
}

/** A step whose argument types match its operation, as the TypeScript compiler has checked. */
interface StepOf<A> {
  operation: StepName;
  params: A;
}

type ArgumentNames<S> = S extends StepOf<infer A> ? keyof A & string : never;

/** The arguments of the op's steps whose names differ from its parameters. */
type RenamedArguments<P extends TProperties, S> = Exclude<ArgumentNames<S>, keyof P | keyof PassParameters>;

/**
 * For each argument of a step, the parameters that determine it. If a worker refuses the argument, the error names
 * these parameters. An argument with the same name as a parameter may be omitted. An argument with a fixed value has an
 * empty list.
 */
type RenamedOption<P extends TProperties, S> = [RenamedArguments<P, S>] extends [never]
  ? { renamed?: Partial<Record<ArgumentNames<S>, readonly (keyof P & string)[]>> }
  : {
      renamed: Record<RenamedArguments<P, S>, readonly (keyof P & string)[]> &
        Partial<Record<ArgumentNames<S>, readonly (keyof P & string)[]>>;
    };

/** What all ops on the pixels of one image have in common. */
const PIXEL_OP_MEMBERS = {
  runs: 'pass',
  kind: 'deterministic',
  fields: {},
  requiresAssets: true,
  requiresPrompt: false,
  jobType: 'process',
} as const;

/**
 * The common members of all ops that return JSON about a picture. Such an op runs in a synchronous call, or as the last
 * step of a job.
 */
export const JSON_OP_MEMBERS = { ...PIXEL_OP_MEMBERS, produces: 'json', renamed: {} } as const;

/**
 * Defines a deterministic op on one image. Only this function declares and handles the parameters that all such ops
 * share.
 */
export function definePixelOp<const N extends string, P extends TProperties, S extends StepOf<object>>(
  source: CompilablePixelOp<N, P, S> & RenamedOption<P, S>,
): PixelOp<N> {
  const { op, description, findInvalidParameter, renamed = {}, compile, readsSecondAsset } = source;
  const fillDefaults = createDefaultsFiller(source.parameters);
  return {
    ...PIXEL_OP_MEMBERS,
    op,
    description,
    parameters: argumentsSchema({ ...sharedParametersOf(source.parameters), ...source.parameters }),
    findInvalidParameter: (given) =>
      findInvalidParameter?.(given as Parameters<typeof findInvalidParameter>[0]) ??
      checkPassParameters(given),
    produces: 'image',
    ...(readsSecondAsset === undefined ? { syncEndpoint: TRANSFORM_ENDPOINT } : { readsSecondAsset }),
    example: { parameters: source.example as GivenParameters },
    renamed,
    compile(given: CheckedParameters) {
      const params = fillDefaults(given) as FilledArguments<P> & PassParameters;
      const { decode, encode } = decodeAndEncodeOptionsOf(params);
      const made = compile(params);
      return {
        decode,
        steps: [...(made.steps ?? [])] as OperationStep[],
        encode: { ...encode, ...made.encode },
      };
    },
  };
}

/**
 * The shared parameters of an op. If the op declares its own `frame`, the parameters that choose several frames are
 * left out.
 */
function sharedParametersOf(own: TProperties): TProperties {
  if (!('frame' in own)) return PASS_PARAMETERS;
  const shared = Object.entries(PASS_PARAMETERS).filter(
    ([name]) => !FRAME_SELECTORS.some((one) => one === name),
  );
  return Object.fromEntries(shared);
}

/** The parameters of an operation. */
type ParametersOf<O extends StepName> = (typeof OPERATIONS)[O]['declared'];

/**
 * Defines an op that is one operation of the registry. By default, the op takes the operation's description, its rule
 * and all its parameters.
 */
export function defineImageOp<const N extends string, O extends StepName>(
  operation: O,
  source: PixelOpDefinition<N, ParametersOf<O>> & {
    description?: string;
    /** The parameters that the op takes of the operation, with tighter bounds or other words. */
    parameters?: Partial<ParametersOf<O>>;
  },
): PixelOp<N> {
  const { description, declared, findInvalidArgument, readsSecondAsset }: StepOperation =
    OPERATIONS[operation];
  const own = Object.keys(declared);
  return definePixelOp<N, TProperties, StepOf<object>>({
    description,
    parameters: declared,
    readsSecondAsset,
    findInvalidParameter: findInvalidArgument,
    ...(source as unknown as PixelOpDefinition<N, TProperties>),
    compile(params) {
      const sent = withoutAbsentFields(Object.fromEntries(own.map((name) => [name, params[name]])));
      return { steps: [{ operation, params: sent }] };
    },
  });
}

/**
 * One step of the registry. Undefined arguments are left out. TypeScript refuses an argument that the operation does
 * not have.
 */
export function operationStep<O extends StepName, const A extends StepArguments<O>>(
  operation: O,
  params: A & Readonly<Record<Exclude<keyof A, keyof StepArguments<O>>, never>>,
): StepOf<A> {
  return { operation, params: withoutAbsentFields(params) as unknown as A };
}
