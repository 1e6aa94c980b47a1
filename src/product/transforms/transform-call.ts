import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import type { ImagePass } from '../../../workers/protocol.ts';
import {
  type ApiError,
  exclusiveFieldError,
  type SentField,
  sentFieldAt,
} from '../../platform/http/errors/errors.ts';
import { createValidator } from '../../platform/http/errors/validation.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { checkOpParameters } from '../catalogue/checks/check.ts';
import { normalizeParameterSpelling, parseOpParameters } from '../catalogue/checks/spelling.ts';
import { type StepWarning, stepWarningsOf } from '../catalogue/checks/warnings.ts';
import type { GivenParameters, Op, PixelOp } from '../catalogue/op.ts';
import { compilePass, compilePreset, type SinglePassObstacle } from '../catalogue/plan/compile.ts';
import { findSentParameter } from '../catalogue/plan/pass.ts';
import {
  checkJsonSize,
  checkStepSizes,
  type PresetStep,
  type RequestedStep,
  savedSteps,
  sentSteps,
} from '../catalogue/plan/step.ts';
import type { ModelsFile } from '../models/models.ts';
import type { PresetsSlice } from '../presets/open.ts';
import type { BodyFields, JobInputs } from './input.ts';
import { bindStepLayers, type RequestedLayer } from './layers.ts';
import { parseSentOutputs, type RequestedOutputsWork } from './outputs.ts';
import { missingOpError, onlyAsStepError, requireTransformOp } from './transform-op.ts';
import {
  checkQueryOptions,
  parametersOf,
  parseText,
  type RawQueryFields,
  refuseBodyFieldsIn,
} from './transform-query.ts';
import { type RequestedOutput, RequestedTransformSteps } from './transform-schema.ts';

/** The work of a transform: a saved preset, one pass made of an op or of steps, or several outputs. */
export type TransformCallWork =
  | { kind: 'preset'; reference: string }
  | ({ kind: 'pass' } & CompiledTransformCall)
  | ({ kind: 'outputs' } & RequestedOutputsWork);

export interface CompiledTransformCall {
  /** The name under which usage counts the work: an op's name, `steps`, or `preset`. */
  op: string;
  pass: ImagePass;
  warnings: readonly StepWarning[];
  /** The second pictures that the pass reads. */
  layers: readonly RequestedLayer[];
  /** Finds the parameter of the call that became a parameter of the pass. */
  paramOf: (passParam: string) => string;
  /** The body of a job that does the same, but without the asset ids. Absent if a job could not read all pictures. */
  asJob?: Record<string, unknown>;
}

export interface CompiledOutput extends CompiledTransformCall {
  name: string;
  parametersPrefix: string;
}

/** The maximum number of compiled queries that a process caches. */
const MAX_CACHED_QUERIES = 1_000;
const MAX_CACHED_QUERY_CHARACTERS = 500;

/** The query of a request, both parsed and as text within the URL. */
type SentQuery = Pick<FastifyRequest, 'query' | 'url'>;

/** Compiles the queries and bodies of transform calls to passes. */
export class TransformCallCompiler {
  readonly #models: ModelsFile;
  readonly #presets: Pick<PresetsSlice, 'findPass' | 'find'>;
  /** Compiled calls by the text of their query. Programs usually send the same few queries again and again. */
  readonly #cache = new LRUCache<string, TransformCallWork>({ max: MAX_CACHED_QUERIES });

  constructor({ models, presets }: { models: ModelsFile; presets: Pick<PresetsSlice, 'findPass' | 'find'> }) {
    this.#models = models;
    this.#presets = presets;
  }

  /**
   * Compiles a call. The query and the body together must contain one op, one preset or steps; keys of the query take
   * precedence. If the body adds nothing, the result is cached by the text of the query.
   * @throws ApiError invalid_param on op, preset, steps or the parameter at fault.
   */
  compile({ url, query }: SentQuery, body: BodyFields = {}, inputs: JobInputs = {}): TransformCallWork {
    if (!isEmptyBody(body)) return this.compileUncached(query as RawQueryFields, body, inputs);
    const text = queryTextOf(url);
    const kept = this.#cache.get(text);
    if (kept !== undefined) return kept;
    const call = this.compileUncached(query as RawQueryFields, body, inputs);
    if (text.length <= MAX_CACHED_QUERY_CHARACTERS) this.#cache.set(text, call);
    return call;
  }

  /**
   * Refuses a query that no body can make valid. This happens before a slot is taken and before the body is read.
   * @throws the errors of `compile`.
   */
  checkQuery(sent: SentQuery, bodyMayAdd: boolean): void {
    if (!bodyMayAdd || this.#cache.has(queryTextOf(sent.url))) {
      this.compile(sent);
      return;
    }
    const query = sent.query as RawQueryFields;
    refuseBodyFieldsIn(query);
    const { op, preset } = parseOpOrPreset(query, {});
    if (op !== undefined && preset === undefined)
      refuseUnknownParameters(
        requireTransformOp(op, (any) => parseParameters(any, query, {})),
        query,
      );
  }

  /**
   * Compiles a call without caching the result.
   * @throws the errors of `compile`.
   */
  compileUncached(query: RawQueryFields, body: BodyFields, inputs: JobInputs = {}): TransformCallWork {
    checkQueryOptions(query);
    refuseBodyFieldsIn(query);
    if (body.outputs !== undefined) return { kind: 'outputs', ...parseOutputs(query, body) };
    if (body.steps !== undefined) {
      const steps = parseSteps(query, body);
      return { kind: 'pass', ...this.#compilePass('steps', sentSteps(steps), { steps }, inputs) };
    }
    const { op, preset } = parseOpOrPreset(query, body);
    if (preset !== undefined) return parsePresetCall(preset, query, body);
    if (op === undefined) {
      throw missingOpError(body.parameters, { ...body.texts, ...parametersOf(query) });
    }
    const found = requireTransformOp(op, (any) => parseParameters(any, query, body), inputs);
    const parameters = parseParameters(found, query, body);
    const step = { op, parameters, findField: createParameterFinder(query, body) };
    const compiled = this.#compilePass(op, [step], { op, parameters }, inputs);
    if (found.readsSecondAsset !== undefined) throw onlyAsStepError(op, parameters);
    return { kind: 'pass', ...compiled };
  }

  /**
   * Finds the pass of a call that makes one result. If the call names a preset, the preset is read.
   * @throws the errors of `PresetsSlice.findPass`.
   */
  async findPass(
    work: Exclude<TransformCallWork, { kind: 'outputs' }>,
    accountId: string,
    inputs?: JobInputs,
  ): Promise<CompiledTransformCall> {
    if (work.kind === 'pass') return work;
    const { reference } = work;
    const paramOf = (passParam: string) => (passParam === 'frame' ? 'frame' : 'preset');
    const run = await this.#presets.findPass(accountId, reference, inputs);
    return { ...run, op: 'preset', layers: [], paramOf, asJob: { presetId: reference } };
  }

  /**
   * Compiles the pass of each output.
   * @throws ApiError invalid_param on `outputs[i]…`, or the errors of `PresetsSlice.find`.
   */
  async compileOutputs(
    { first, outputs }: RequestedOutputsWork,
    accountId: string,
    inputs: JobInputs = {},
  ): Promise<CompiledOutput[]> {
    const compiled: CompiledOutput[] = [];
    for (const [index, output] of outputs.entries()) {
      const where = `outputs[${index}]`;
      const steps = [...first, ...(await this.#findSteps(output, where, accountId, inputs))];
      const op = output.op ?? (output.preset === undefined ? 'steps' : 'preset');
      const call = this.#compilePass(op, steps, stepsJobBodyOf(steps), inputs, where);
      compiled.push({ name: output.name, ...call, parametersPrefix: `${where}.parameters.` });
    }
    return compiled;
  }

  /** The steps of an output. If it has a preset, its steps are read. */
  async #findSteps(
    { op, parameters = {}, steps, preset }: RequestedOutput,
    where: string,
    accountId: string,
    inputs: JobInputs,
  ): Promise<RequestedStep[]> {
    if (steps !== undefined) {
      checkStepSizes(steps, `${where}.steps`);
      return sentSteps(steps, `${where}.steps`);
    }
    const param = `${where}.preset`;
    if (preset !== undefined) {
      const { version } = await this.#presets.find(accountId, preset, param);
      compilePreset(version.steps, param, this.#models, { presetId: preset, ...inputs });
      return savedSteps(version.steps, param);
    }
    checkJsonSize(parameters, `${where}.parameters`);
    const findField = (key: string) => sentFieldAt(key === '' ? where : `${where}.${key}`);
    const found = requireTransformOp(op ?? '', () => parameters, inputs, findField('op'));
    return [{ op: found.op, parameters: normalizeParameterSpelling(found, parameters), findField }];
  }

  /**
   * Compiles steps to one pass.
   * @param asJob the body of a job that does the same.
   * @param whole the field of the call that contains all of the steps.
   */
  #compilePass(
    op: string,
    sent: readonly RequestedStep[],
    asJob: Record<string, unknown>,
    inputs: JobInputs,
    whole = 'steps',
  ): CompiledTransformCall {
    const { steps, layers } = bindStepLayers(sent);
    const ids = layers.map(({ id }) => id);
    const compiled = compilePass(steps, this.#models, jobOnlyErrorMaker(sent, inputs), ids);
    const paramOf = (passParam: string) => findSentParameter(compiled.steps, passParam, whole);
    const warnings = stepWarningsOf([compiled]);
    // A job can read only assets as second pictures.
    const runsAsJob = layers.every(({ source }) => source.kind === 'asset');
    return { op, pass: compiled.pass, warnings, layers, paramOf, ...(runsAsJob && { asJob }) };
  }
}

/** The body of a job with these steps, without its asset ids. */
function stepsJobBodyOf(sent: readonly RequestedStep[]) {
  return { steps: sent.map(({ findField: _, ...step }) => step) };
}

/**
 * The bodies of jobs that would make the same outputs, without their asset ids. If all outputs run the same op, it is
 * one job with variants, and otherwise one job per output. Empty if jobs could not make all of them.
 */
export function jobBodiesOfOutputs(
  { first, outputs }: RequestedOutputsWork,
  compiled: readonly CompiledOutput[],
): Record<string, unknown>[] {
  const jobs = compiled.flatMap(({ asJob }) => (asJob === undefined ? [] : [asJob]));
  if (jobs.length < compiled.length) return [];
  const [{ op } = {}] = outputs;
  if (op === undefined || first.length > 0 || outputs.some((output) => output.op !== op)) return jobs;
  return [{ op, variants: outputs.map(({ name, parameters = {} }) => ({ name, parameters })) }];
}

/**
 * Makes the error for steps that a synchronous call cannot run in one pass. The error contains the body of a job that
 * can.
 */
function jobOnlyErrorMaker(sent: readonly RequestedStep[], inputs: JobInputs) {
  return ({ does, step }: SinglePassObstacle): ApiError => {
    const message = `${step.findField('').name} ${does}, so these steps run only as a job: send them with assetIds to POST /api/v1/jobs.`;
    const job = { ...stepsJobBodyOf(sent), ...inputs };
    return step.findField(step.op === undefined ? 'operation' : 'op').refuse(message, { instead: [{ job }] });
  };
}

/**
 * Returns a function that finds where a parameter of an op was sent: in the query, as a form field, or in `parameters`.
 */
function createParameterFinder(
  query: RawQueryFields,
  { parameters = {}, texts = {} }: BodyFields,
): (key: string) => SentField {
  return (key) => {
    const name = key.replace(/^parameters\./, '');
    const [root = ''] = name.split(/[.[]/);
    const isNested = Object.keys(parameters).length > 0 && !Object.hasOwn({ ...texts, ...query }, root);
    return sentFieldAt(name, isNested ? `parameters.${name}` : name);
  };
}

/**
 * The op or the preset of a call.
 * @throws ApiError invalid_param on preset if both are sent.
 */
function parseOpOrPreset(query: RawQueryFields, body: BodyFields) {
  const op = parseText('op', query.op) ?? (query.preset === undefined ? body.op : undefined);
  const preset = parseText('preset', query.preset) ?? (query.op === undefined ? body.preset : undefined);
  if (op !== undefined && preset !== undefined)
    throw exclusiveFieldError('preset', 'op and preset exclude each other: send one of them.', [
      'op',
      'preset',
    ]);
  return { op, preset };
}

/** The query string as sent, without the question mark. */
function queryTextOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

/** Whether a body adds nothing to the query. */
function isEmptyBody({ texts = {}, ...fields }: BodyFields): boolean {
  return Object.keys(fields).length === 0 && Object.keys(texts).length === 0;
}

/** The parameters of the op, from the body, the form fields and the query. The query takes precedence. */
function parseParameters(op: Op, query: RawQueryFields, body: BodyFields): GivenParameters {
  return normalizeParameterSpelling(op, {
    ...body.parameters,
    ...parseOpParameters(op, body.texts ?? {}),
    ...parseOpParameters(op, parametersOf(query)),
  });
}

function parsePresetCall(reference: string, query: RawQueryFields, body: BodyFields): TransformCallWork {
  const given = { ...body.parameters, ...body.texts, ...parametersOf(query) };
  const extra = Object.keys(given)[0];
  if (extra === undefined) return { kind: 'preset', reference };
  const message = `${extra} may not accompany preset: a preset runs as it was saved. Leave it out.`;
  throw exclusiveFieldError(extra, message, ['preset', extra]);
}

/**
 * @throws ApiError invalid_param on steps, or `steps[i]…`, when the check finds a violation.
 */
const validateSteps = createValidator(Type.Object({ steps: RequestedTransformSteps }), 'steps');

/**
 * Parses the steps of a call. Because the steps define all of the work, any other field that describes work is refused.
 */
function parseSteps(query: RawQueryFields, { steps: sent, texts, ...fields }: BodyFields): PresetStep[] {
  const extra = findExtraField(query, { ...fields, ...withoutAbsentFields({ texts }) });
  if (extra !== undefined) {
    const fix = ['op', 'preset', 'parameters'].includes(extra)
      ? 'Leave it out, or leave out steps.'
      : 'Move it into parameters of a step.';
    const message = `${extra} may not accompany steps, because they define all of the work. ${fix}`;
    throw exclusiveFieldError(extra, message, ['steps', extra]);
  }
  return parseSentSteps(sent);
}

function parseSentSteps(sent: unknown): PresetStep[] {
  const { steps } = validateSteps({ steps: sent });
  checkStepSizes(steps, 'steps');
  return steps;
}

/** The first field in the query or the body that describes other work; undefined if there is none. */
function findExtraField(query: RawQueryFields, { texts, ...fields }: BodyFields): string | undefined {
  const { op, preset } = query;
  return Object.keys({
    ...fields,
    ...texts,
    ...withoutAbsentFields({ op, preset }),
    ...parametersOf(query),
  })[0];
}

/**
 * Parses the outputs of a call.
 * @throws ApiError invalid_param on outputs, `outputs[i]…`, or a field that cannot be combined with outputs.
 */
function parseOutputs(
  query: RawQueryFields,
  { outputs, steps, ...others }: BodyFields,
): RequestedOutputsWork {
  const extra = findExtraField(query, others);
  if (extra === 'op' || extra === 'preset') {
    const message = `outputs and ${extra} exclude each other: move ${extra} into an output, or leave outputs out.`;
    throw exclusiveFieldError('outputs', message, ['outputs', extra]);
  }
  if (extra !== undefined) {
    const message = `${extra} may not accompany outputs: move it into parameters of an output, or leave it out.`;
    throw exclusiveFieldError(extra, message, ['outputs', extra]);
  }
  const first = steps === undefined ? [] : sentSteps(parseSentSteps(steps));
  return { first, outputs: parseSentOutputs(outputs) };
}

/** Refuses keys that the op does not have. A missing parameter is not an error yet, because the body may contain it. */
function refuseUnknownParameters(op: PixelOp, query: RawQueryFields): void {
  for (const name of Object.keys(parametersOf(query))) {
    if (!(name in op.parameters.properties)) checkOpParameters(op, { [name]: query[name] });
  }
}
