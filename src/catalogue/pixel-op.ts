import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import type { OperationName } from '../../workers/image/operations/index.ts';
import type { Encode, Step } from '../../workers/protocol.ts';
import type { Checked, Given, OpName, PixelOp, Violation } from './op.ts';
import { PASS_PARAMETERS, type PassParameters, passPartsOf, passRule } from './pass-parameters.ts';

type Own<P extends TProperties> = Static<TObject<P>>;

/** What an op's file says; `pixelOp` adds what all of them share. */
interface PixelOpSource<P extends TProperties> {
  op: OpName;
  description: string;
  /** The op's own parameters; they hide a shared one of the same name. */
  parameters: P;
  example: Partial<Own<P>> & Omit<PassParameters, keyof P>;
  rule?: (given: Partial<Own<P>> & Omit<PassParameters, keyof P>) => Violation | undefined;
  /** The op's steps, and what it asks of the encoder beyond the shared parameters. Defaults are filled in. */
  compile: (params: Own<P> & Omit<PassParameters, keyof P>) => { steps?: Step[]; encode?: Encode };
  /** Registry arguments that the op calls otherwise, for refusals that a worker makes. */
  renamed?: Readonly<Record<string, readonly (keyof P & string)[]>>;
  /** false: the op reads a second asset and runs in jobs only. */
  sync?: boolean;
}

/** A deterministic op on one image, with the parameters that all of them share declared and handled here, once. */
export function pixelOp<P extends TProperties>(source: PixelOpSource<P>): PixelOp {
  const { op, description, rule, renamed = {}, compile, sync = true } = source;
  const parameters = contract({ ...PASS_PARAMETERS, ...source.parameters });
  return {
    op,
    runs: 'pass',
    kind: 'deterministic',
    description,
    parameters,
    fields: {},
    rule: (given) => rule?.(given as Parameters<typeof rule>[0]) ?? passRule(given),
    produces: 'image',
    requiresAssets: true,
    requiresPrompt: false,
    jobType: 'process',
    ...(sync && { syncEndpoint: '/images/transform' }),
    example: { parameters: source.example as Given },
    renamed,
    compile(given: Checked) {
      const params: Given = { ...defaultsOf(source.parameters), ...given };
      const { decode, encode } = passPartsOf(params as PassParameters);
      const made = compile(params as Parameters<typeof compile>[0]);
      return { decode, steps: made.steps ?? [], encode: { ...encode, ...made.encode } };
    },
  };
}

/** The object of an op's parameters as it is checked: nothing undeclared, and what has a default may be left out. */
export function contract(properties: TProperties, options: { open?: boolean } = {}): TObject {
  const wire = Object.entries(properties).map(([name, schema]): [string, TSchema] => [
    name,
    'default' in schema ? Type.Optional(schema) : schema,
  ]);
  return Type.Object(Object.fromEntries(wire), { additionalProperties: options.open ?? false });
}

/** One registry step; arguments that are undefined are left out. */
export function step(operation: OperationName, params: Record<string, unknown> = {}): Step {
  const sent = Object.entries(params).filter(([, value]) => value !== undefined);
  return { operation, params: Object.fromEntries(sent) };
}

function defaultsOf(properties: TProperties): Record<string, unknown> {
  const filled = Object.entries(properties).filter(([, schema]) => 'default' in schema);
  return Object.fromEntries(filled.map(([name, schema]) => [name, schema.default]));
}
