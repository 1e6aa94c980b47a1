import type { TProperties } from '@sinclair/typebox';
import { FRAME_SELECTORS } from '../../../workers/image/frames.ts';
import {
  type ArgumentsOf,
  operations,
  type StepName,
  type StepOperation,
} from '../../../workers/image/operations/index.ts';
import {
  argumentsSchema,
  defaultsFiller,
  type Filled,
  type SentParams,
} from '../../../workers/image/operations/parameter.ts';
import type { Encode, OperationStep } from '../../../workers/protocol.ts';
import { present } from '../../platform/values/present.ts';
import { type Checked, type Given, type PixelOp, TRANSFORM_ENDPOINT, type Violation } from './op.ts';
import { PASS_PARAMETERS, type PassParameters, passPartsOf, passRule } from './pass-parameters.ts';

type SharedParameters<P extends TProperties> = Omit<PassParameters, keyof P>;

/** The definition of one op on pixels; `pixelOp` adds what all of them share. */
interface PixelOpDefinition<N extends string, P extends TProperties> {
  op: N;
  example: SentParams<P> & SharedParameters<P>;
  /** A rule across several parameters. */
  rule?(given: SentParams<P> & SharedParameters<P>): Violation | undefined;
}

/** The definition of an op with its parameters, and with the function that compiles them to steps. */
interface CompilablePixelOp<N extends string, P extends TProperties, S extends StepOf<object>>
  extends PixelOpDefinition<N, P> {
  description: string;
  /** The parameter that names a second picture. Such an op has no synchronous form of its own. */
  readsSecondAsset?: string | undefined;
  /** The op's own parameters; they replace a shared one of the same name. */
  parameters: P;
  /** The op's steps, and its encoder settings beyond the shared parameters. Defaults are filled in. */
  compile: (params: Filled<P> & SharedParameters<P>) => { steps?: readonly S[]; encode?: Encode };
}

/** A step whose arguments were checked against its operation by the TypeScript compiler. */
interface StepOf<A> {
  operation: StepName;
  params: A;
}

type ArgumentNames<S> = S extends StepOf<infer A> ? keyof A & string : never;

/** The arguments of the op's steps whose names differ from its parameters. */
type Foreign<P extends TProperties, S> = Exclude<ArgumentNames<S>, keyof P | keyof PassParameters>;

/**
 * The parameters that become each argument of a step, to translate a worker's refusal of the argument. An argument with
 * the name of a parameter may be omitted; an argument that only the op determines has no parameter.
 */
type Renamed<P extends TProperties, S> = [Foreign<P, S>] extends [never]
  ? { renamed?: Partial<Record<ArgumentNames<S>, readonly (keyof P & string)[]>> }
  : {
      renamed: Record<Foreign<P, S>, readonly (keyof P & string)[]> &
        Partial<Record<ArgumentNames<S>, readonly (keyof P & string)[]>>;
    };

/** A deterministic op on one image, with the parameters that all of them share declared and handled here, once. */
export function pixelOp<const N extends string, P extends TProperties, S extends StepOf<object>>(
  source: CompilablePixelOp<N, P, S> & Renamed<P, S>,
): PixelOp<N> {
  const { op, description, rule, renamed = {}, compile, readsSecondAsset } = source;
  const filled = defaultsFiller(source.parameters);
  return {
    op,
    runs: 'pass',
    kind: 'deterministic',
    description,
    parameters: argumentsSchema({ ...sharedBeside(source.parameters), ...source.parameters }),
    fields: {},
    rule: (given) => rule?.(given as Parameters<typeof rule>[0]) ?? passRule(given),
    produces: 'image',
    requiresAssets: true,
    requiresPrompt: false,
    jobType: 'process',
    ...(readsSecondAsset === undefined ? { syncEndpoint: TRANSFORM_ENDPOINT } : { readsSecondAsset }),
    example: { parameters: source.example as Given },
    renamed,
    compile(given: Checked) {
      const params = filled(given) as Filled<P> & PassParameters;
      const { decode, encode } = passPartsOf(params);
      const made = compile(params);
      return {
        decode,
        steps: [...(made.steps ?? [])] as OperationStep[],
        encode: { ...encode, ...made.encode },
      };
    },
  };
}

/** The shared parameters of an op; one that takes a frame by a parameter of its own has no choice of several. */
function sharedBeside(own: TProperties): TProperties {
  if (!('frame' in own)) return PASS_PARAMETERS;
  const shared = Object.entries(PASS_PARAMETERS).filter(
    ([name]) => !FRAME_SELECTORS.some((one) => one === name),
  );
  return Object.fromEntries(shared);
}

/**
 * An op that is one operation of the registry. It has the operation's parameters, and its description and rule unless
 * it defines its own.
 */
export function operationOp<const N extends string, O extends StepName>(
  operation: O,
  source: PixelOpDefinition<N, (typeof operations)[O]['declared']> & { description?: string },
): PixelOp<N> {
  const { description, declared, rule, readsSecondAsset }: StepOperation = operations[operation];
  const own = Object.keys(declared);
  return pixelOp<N, TProperties, StepOf<object>>({
    description,
    parameters: declared,
    readsSecondAsset,
    rule,
    ...(source as unknown as PixelOpDefinition<N, TProperties>),
    compile(params) {
      const sent = present(Object.fromEntries(own.map((name) => [name, params[name]])));
      return { steps: [{ operation, params: sent }] };
    },
  });
}

/**
 * One registry step; arguments that are undefined are left out. An argument that the operation lacks does not compile.
 */
export function step<O extends StepName, const A extends ArgumentsOf<O>>(
  operation: O,
  params: A & Readonly<Record<Exclude<keyof A, keyof ArgumentsOf<O>>, never>>,
): StepOf<A> {
  return { operation, params: present(params) as unknown as A };
}
