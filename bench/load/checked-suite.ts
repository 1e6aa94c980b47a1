import { type TSchema, Type } from '@sinclair/typebox';
import { Ajv, type ErrorObject } from 'ajv';
import {
  mismatchedValueDiagnosis,
  missingFieldDiagnosis,
  spellPath,
  undeclaredFieldsDiagnosis,
  violationPathOf,
} from '../../src/platform/http/errors/violations.ts';
import { didYouMeanHint } from '../../src/platform/ids/nearest.ts';
import type { LoadSuite, Stage, Threshold } from './suite.ts';

const closed = { additionalProperties: false };
const Text = Type.String({ minLength: 1 });
const Positive = Type.Number({ exclusiveMinimum: 0 });
const Names = Type.Record(Type.String(), Type.Unknown(), { minProperties: 1 });
const oneOf = (...values: string[]) => Type.Unsafe<string>({ type: 'string', enum: values });

/**
 * The schema of a suite, without its stages and thresholds. These are checked one by one, so that the messages name
 * their path.
 */
const Suite = Type.Object(
  {
    name: Text,
    description: Text,
    settings: Type.Optional(Type.Record(Type.String(), Type.String())),
    accounts: Type.Optional(Type.Integer({ minimum: 1 })),
    cases: Names,
    stages: Type.Array(Type.Unknown(), { minItems: 1 }),
    thresholds: Type.Optional(Type.Array(Type.Unknown())),
    mostMegabytesPerHour: Type.Optional(Positive),
  },
  closed,
);

const STAGE = {
  name: Text,
  seconds: Positive,
  isWarmUp: Type.Optional(Type.Literal(true)),
  loop: oneOf('closed', 'open'),
};
const ClosedStage = Type.Object(
  { ...STAGE, connections: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), { minProperties: 1 }) },
  closed,
);
const OpenStage = Type.Object(
  { ...STAGE, perSecond: Names, retries: Type.Optional(Type.Literal(true)) },
  closed,
);
const RateOf = Type.Object({ times: Positive, stage: Text }, closed);
const NotNegative = Type.Number({ minimum: 0 });
const Ramp = Type.Object({ from: NotNegative, to: NotNegative }, closed);
const GivenTimes = Type.Object({ atMs: Type.Array(NotNegative, { minItems: 1 }) }, closed);
const Limit = Type.Object(
  {
    stage: Text,
    case: Text,
    measure: oneOf('perSecond', 'p50', 'p95', 'p99', 'errorShare'),
    atMost: Type.Optional(Type.Number()),
    atLeast: Type.Optional(Type.Unknown()),
  },
  closed,
);

const ajv = new Ajv({ allErrors: true, verbose: true, strict: false });

/**
 * The suite that a module exports.
 * @throws Error with a sentence for each mistake.
 */
export async function importSuite(file: string): Promise<LoadSuite> {
  const { default: suite } = (await import(file)) as { default: unknown };
  const sentences = findMistakes(suite);
  if (sentences.length > 0) throw new Error([`${file} is not a suite:`, ...sentences].join('\n'));
  return suite as LoadSuite;
}

/** A sentence for each mistake of a suite. Names that refer to other parts are checked only if the form is right. */
export function findMistakes(suite: unknown): string[] {
  const outline = violations(suite, Suite, '');
  if (outline.length > 0) return outline;
  const { cases, stages, thresholds = [] } = suite as LoadSuite;
  const form = [
    ...Object.entries(cases).flatMap(([name, one]) =>
      typeof one?.prepare === 'function'
        ? []
        : [`cases.${name} has no function prepare, which returns its calls.`],
    ),
    ...stages.flatMap((stage, index) => stageMistakes(stage, `stages[${index}]`)),
    ...thresholds.flatMap((threshold, index) => thresholdMistakes(threshold, `thresholds[${index}]`)),
  ];
  return form.length > 0 ? form : unknownNameMistakes(suite as LoadSuite);
}

function stageMistakes(stage: Stage, path: string): string[] {
  // A stage without a valid `loop` is checked as a closed stage.
  const isOpen = stage?.loop === 'open';
  const found = violations(stage, isOpen ? OpenStage : ClosedStage, path);
  if (!isOpen || found.length > 0) return found;
  return Object.entries(stage.perSecond).flatMap(([name, rate]) =>
    rateMistakes(rate, `${path}.perSecond.${name}`),
  );
}

function thresholdMistakes(threshold: Threshold, path: string): string[] {
  const found = violations(threshold, Limit, path);
  if (found.length > 0) return found;
  const { atMost, atLeast } = threshold;
  if (atMost === undefined && atLeast === undefined) return [`${path} has neither atMost nor atLeast.`];
  return atLeast === undefined ? [] : rateMistakes(atLeast, `${path}.atLeast`);
}

function rateMistakes(rate: unknown, path: string): string[] {
  const isRamp = rate !== null && typeof rate === 'object' && 'from' in rate;
  const isGiven = rate !== null && typeof rate === 'object' && 'atMs' in rate;
  if (isRamp) return violations(rate, Ramp, path);
  if (isGiven) return violations(rate, GivenTimes, path);
  return violations(rate, typeof rate === 'object' ? RateOf : NotNegative, path);
}

/** Names that refer to no case or stage, each with the nearest one. */
function unknownNameMistakes({ cases, stages, thresholds = [] }: LoadSuite): string[] {
  const measuredBy = new Map<string, string[]>();
  const sentences: string[] = [];
  const isKnown = (path: string, name: string, known: readonly string[]) => {
    if (!known.includes(name))
      sentences.push(`${path} is "${name}", which does not exist.${didYouMeanHint(name, known)}`);
    return known.includes(name);
  };
  stages.forEach((stage, index) => {
    const path = `stages[${index}]`;
    const sent = stage.loop === 'closed' ? stage.connections : stage.perSecond;
    if (measuredBy.has(stage.name))
      sentences.push(`${path}.name is "${stage.name}", which an earlier stage has too.`);
    for (const [name, rate] of Object.entries(sent)) {
      isKnown(`${path}, its case`, name, Object.keys(cases));
      if (typeof rate !== 'object' || !('times' in rate)) continue;
      const of = `${path}.perSecond.${name}.stage`;
      if (isKnown(of, rate.stage, [...measuredBy.keys()]))
        isKnown(of, name, measuredBy.get(rate.stage) ?? []);
    }
    measuredBy.set(stage.name, Object.keys(sent));
  });
  const measured = stages.filter(({ isWarmUp }) => !isWarmUp).map(({ name }) => name);
  thresholds.forEach(({ stage, case: name, atLeast }, index) => {
    const path = `thresholds[${index}]`;
    if (isKnown(`${path}.stage`, stage, measured)) isKnown(`${path}.case`, name, measuredBy.get(stage) ?? []);
    if (typeof atLeast === 'object' && isKnown(`${path}.atLeast.stage`, atLeast.stage, measured))
      isKnown(`${path}.case`, name, measuredBy.get(atLeast.stage) ?? []);
  });
  return sentences;
}

function violations(value: unknown, schema: TSchema, path: string): string[] {
  if (ajv.validate(schema, value)) return [];
  return (ajv.errors ?? []).map((error) => sentenceOf(error, path));
}

function sentenceOf(error: ErrorObject, path: string): string {
  const inner = violationPathOf(error);
  const at = [path, spellPath(inner)].filter((part) => part !== '').join('.') || 'The default export';
  const contract = { owner: path || 'a suite', noun: 'field' } as const;
  const schema = error.parentSchema as TSchema;
  if (error.keyword === 'minProperties') return `${at} is empty.`;
  const sent = error.data;
  if (error.keyword === 'additionalProperties')
    return undeclaredFieldsDiagnosis({ param: at, names: [inner.at(-1) ?? ''], sent, schema }, contract)
      .message;
  if (error.keyword === 'required') return missingFieldDiagnosis(at, sent, schema, contract).message;
  return mismatchedValueDiagnosis({ path: at }, sent, schema, contract).message;
}

/** Options of the command line that change all stages of a suite except its warm-up; null changes nothing. */
export interface Overrides {
  seconds: number | null;
  /** Calls per second of an open stage, for all its cases together. The shares of the cases stay. */
  rate: number | null;
  /** Connections of each case of a closed stage. */
  connections: number | null;
}

/**
 * The suite with the changed stages.
 * @throws Error if no stage has what is to be changed.
 */
export function withOverrides(suite: LoadSuite, { seconds, rate, connections }: Overrides): LoadSuite {
  const measured = suite.stages.filter(({ isWarmUp }) => !isWarmUp);
  if (rate !== null && !measured.some((stage) => sumOfRates(stage) > 0))
    throw new Error(`--rate changes open stages with rates of their own, and ${suite.name} has none.`);
  if (connections !== null && !measured.some(({ loop }) => loop === 'closed'))
    throw new Error(`--connections changes closed stages, and ${suite.name} has none.`);
  const changed = (stage: Stage): Stage => {
    if (stage.isWarmUp) return stage;
    const timed = { ...stage, seconds: seconds ?? stage.seconds };
    if (timed.loop === 'closed')
      return connections === null
        ? timed
        : { ...timed, connections: mapValues(timed.connections, () => connections) };
    const sum = sumOfRates(timed);
    if (rate === null || sum === 0) return timed;
    const perSecond = mapValues(timed.perSecond, (own) =>
      typeof own === 'number' ? (own * rate) / sum : own,
    );
    return { ...timed, perSecond };
  };
  return { ...suite, stages: suite.stages.map(changed) };
}

/** The sum of the rates that the stage gives as numbers. Other rates are multiples of results of an earlier stage. */
function sumOfRates(stage: Stage): number {
  if (stage.loop === 'closed') return 0;
  return Object.values(stage.perSecond).reduce<number>(
    (sum, rate) => sum + (typeof rate === 'number' ? rate : 0),
    0,
  );
}

function mapValues<A, B>(record: Record<string, A>, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}
