import { Counter, Histogram, register } from 'prom-client';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { Readers } from '../../imaging/readers/readers.ts';
import { ApiError, type ErrorCode } from '../../platform/http/errors/errors.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import type { ProcessParts } from '../../platform/process-parts.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { findModel, type Model, type ModelsFile, type ProviderName } from '../models/models.ts';
import { priceParametersOf } from '../models/prices.ts';
import { type AnswerSchemaChecker, type ModelAnswer, parseModelAnswer } from './answers.ts';
import type { providersSettings } from './config.ts';
import { prepareModelPicture } from './pictures.ts';
import {
  type ModelRequest,
  type ModelTask,
  type Provider,
  type ProviderCall,
  ProviderError,
  unavailableFault,
} from './provider.ts';
import { createConfiguredProviders } from './registry.ts';
import { ProviderSlots } from './slots.ts';

/** One attempt of one item on a model. */
export interface ModelCall extends ModelTask, Omit<ProviderCall, 'signal'> {
  model: string;
  /**
   * Returns the pictures of the call: the picture of the item, if it has one, followed by the reference pictures. It is
   * called only after a slot at the provider is held. Each call must return new arrays, because they are transferred.
   */
  pictures(): Promise<readonly Uint8Array<ArrayBuffer>[]>;
}

export type ModelOutcome =
  | ModelAnswer
  /** All slots at the provider are taken. This does not count as an attempt. */
  | { kind: 'busy'; retryAfterMs: number }
  | {
      kind: 'failure';
      code: ErrorCode;
      /** The message for the caller. It contains no keys. */
      message: string;
      /** Milliseconds until the next attempt; absent when this was the last one. */
      retryAfterMs?: number;
    };

interface ProvidersOptions extends Pick<ProcessParts, 'coordination' | 'hostId' | 'processId'> {
  settings: SettingsOf<typeof providersSettings>;
  models: ModelsFile;
  imageWorkers: ImageWorkers;
  readers: Readers;
  outbound: OutboundRequests;
  answerSchemas: AnswerSchemaChecker;
  tracing: Pick<Tracing, 'span'>;
  log: { error(context: object, message: string): void };
}

/** The pause before a call that found no free slot is repeated, in milliseconds. */
const BUSY_RETRY_PAUSE_MS = 1_000;
const SANDBOX_LATENCY_MS = 100;

const ERROR_CODES_BY_CLASS = {
  rejected: 'provider_rejected',
  unavailable: 'provider_unavailable',
  misconfigured: 'service_misconfigured',
} as const;

/** Calls models at the providers that the settings configure. */
export class Providers {
  readonly #options: ProvidersOptions;
  readonly #providers: ReturnType<typeof createConfiguredProviders>;
  readonly #meter: ReturnType<typeof createProviderMeter>;
  readonly #slots: ProviderSlots;
  /** How many items may run or wait for a slot. Further calls return `busy`. */
  readonly capacity: number;

  constructor(options: ProvidersOptions) {
    this.#options = options;
    const { coordination, hostId, processId, settings } = options;
    const limit = settings.PROVIDER_CONCURRENCY;
    this.#providers = createConfiguredProviders(options);
    this.#meter = createProviderMeter(Object.keys(this.#providers));
    this.#slots = new ProviderSlots({ coordination, hostId, processId, limit });
    this.capacity = 2 * limit * Object.keys(this.#providers).length;
  }

  /**
   * Makes one attempt. It has its own trace span, which contains no prompts, pictures or addresses. Rejects only if the
   * signal aborts (with the signal's reason), or if `keep` or `pictures` rejects.
   */
  run(call: ModelCall, signal: AbortSignal): Promise<ModelOutcome> {
    const attributes = { 'darkroom.op': call.op, 'darkroom.model': call.model };
    return this.#options.tracing.span('provider', attributes, () => this.#run(call, signal));
  }

  /** Ends the threads of the local models and of the schema checks. */
  async stop(): Promise<void> {
    await Promise.all([
      this.#options.answerSchemas.close(),
      ...Object.values(this.#providers).map((provider) => provider.close?.()),
    ]);
  }

  async #run(call: ModelCall, signal: AbortSignal): Promise<ModelOutcome> {
    const model = findModel(this.#options.models, call.model);
    const provider = model && this.#providers[model.provider];
    if (model === undefined || provider === undefined)
      return failedOutcome('service_misconfigured', `The model ${call.model} is no longer offered.`);
    const outcome = await this.#slots.run(model.provider, call.accountId, () =>
      this.#timedAttempt(call, model, provider, signal),
    );
    return outcome ?? { kind: 'busy', retryAfterMs: BUSY_RETRY_PAUSE_MS };
  }

  async #timedAttempt(
    call: ModelCall,
    model: Model,
    provider: Provider,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    const startedMs = performance.now();
    const deadlineSignal = AbortSignal.timeout(this.#options.settings.PROVIDER_TIMEOUT_SECONDS * 1_000);
    const endSignal = AbortSignal.any([deadlineSignal, signal]);
    const outcome = await this.#attempt(call, model, provider, endSignal).catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      const lateError = unavailableFault(
        `The model did not answer within ${this.#options.settings.PROVIDER_TIMEOUT_SECONDS} s.`,
      );
      return this.#classifyFailure(deadlineSignal.aborted ? lateError : error, call, model.provider);
    });
    const elapsedMs = performance.now() - startedMs;
    this.#meter(model.provider, outcome.kind === 'failure' ? outcome.code : 'answered', elapsedMs);
    return outcome;
  }

  async #attempt(
    call: ModelCall,
    model: Model,
    provider: Provider,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const request = await this.#prepareRequest(call, model, signal);
    const { requestId, accountId } = call;
    const keep = (id: string) => wrapCallbackErrors(() => call.keep(id));
    const context: ProviderCall = { accountId, signal, keep, ...withoutAbsentFields({ requestId }) };
    const findProblem = (schema: object, value: unknown) =>
      this.#options.answerSchemas.findProblem(accountId, schema, value);
    const answer = await parseModelAnswer(await provider.run(request, context), request, findProblem);
    const warnings = request.pictures.flatMap((picture) => picture.warnings ?? []);
    return warnings.length === 0 ? answer : { ...answer, warnings };
  }

  async #prepareRequest(call: ModelCall, model: Model, signal: AbortSignal): Promise<ModelRequest> {
    const { op, prompt, parameters, schema, itemIndex, attempt, accountId } = call;
    const files = await wrapCallbackErrors(() => call.pictures());
    const preparing = { imageWorkers: this.#options.imageWorkers, accountId, signal };
    const pictures = await Promise.all(files.map((bytes) => prepareModelPicture(bytes, model, preparing)));
    return {
      ...{ op, itemIndex, attempt },
      ...withoutAbsentFields({ prompt, schema }),
      parameters: { ...withoutAbsentFields(parameters), ...priceParametersOf(model, parameters) },
      providerModel: model.providerModel,
      fields: model.fields ?? {},
      pictures,
    };
  }

  #classifyFailure(error: unknown, { attempt }: ModelCall, name: ProviderName): ModelOutcome {
    if (error instanceof ItemCallbackError) throw error.cause;
    const retryDelayMsOf = (retryAfterMs?: number, by = name) =>
      nextAttemptDelayMs(attempt, this.#retryWaitsOf(by), retryAfterMs);
    if (error instanceof ApiError) {
      // The picture could not be prepared: either the input of the item is invalid, or the image pool is temporarily
      // unavailable.
      const delayMs = error.retryable ? retryDelayMsOf(undefined, 'sandbox') : undefined;
      return failedOutcome(error.code, error.message, delayMs);
    }
    if (!(error instanceof ProviderError)) {
      this.#options.log.error({ err: error, provider: name }, 'A model call failed for no known reason');
      return failedOutcome('internal_error', 'The model call failed.', retryDelayMsOf());
    }
    const { errorClass, message, retryAfterMs } = error;
    if (errorClass === 'misconfigured') {
      const refused = 'A provider refuses this service: see its key, account and model names';
      this.#options.log.error({ provider: name, providerMessage: message }, refused);
    }
    const delayMs = errorClass === 'unavailable' ? retryDelayMsOf(retryAfterMs) : undefined;
    return failedOutcome(ERROR_CODES_BY_CLASS[errorClass], message, delayMs);
  }

  #retryWaitsOf(name: ProviderName): readonly number[] {
    const isHere = name === 'sandbox' || name === 'local';
    return this.#options.settings.PROVIDER_RETRY_SECONDS.map((seconds) =>
      isHere ? SANDBOX_LATENCY_MS : seconds * 1_000,
    );
  }
}

/**
 * Thrown when a function of the caller (`keep` or `pictures`) rejected, for example because the item has another owner
 * by now.
 */
class ItemCallbackError extends Error {
  constructor(cause: unknown) {
    super('The item was lost', { cause });
  }
}

/** Runs a function of the caller, and wraps its errors, so that they are not treated as errors of the provider. */
async function wrapCallbackErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ItemCallbackError(error);
  }
}

function failedOutcome(code: ErrorCode, message: string, retryAfterMs?: number): ModelOutcome {
  return { kind: 'failure', code, message, ...withoutAbsentFields({ retryAfterMs }) };
}

/**
 * The longest wait before another attempt. If a provider requests a longer one, the item fails at once, because a late
 * answer would help its caller less.
 */
const MAX_RETRY_WAIT_MS = 5 * 60_000;

/**
 * When to make the next attempt after a temporary failure.
 * @param attempt the number of the failed attempt, from 1.
 * @param waitsMs the wait before each further attempt.
 * @param retryAfterMs the wait that the provider requested. It can lengthen the wait, but not shorten it.
 * @returns milliseconds from now; undefined when no attempt is left, or the provider requests too long a wait.
 */
export function nextAttemptDelayMs(
  attempt: number,
  waitsMs: readonly number[],
  retryAfterMs = 0,
): number | undefined {
  const planned = waitsMs[attempt - 1];
  if (planned === undefined || retryAfterMs > MAX_RETRY_WAIT_MS) return undefined;
  return Math.max(planned, retryAfterMs);
}

/**
 * Records an attempt of a model call and its duration, by provider and outcome (the label `verdict`). No label
 * identifies a caller.
 */
type ProviderMeter = (provider: ProviderName, outcome: string, elapsedMs: number) => void;

const DURATION_METRIC = 'darkroom_provider_call_seconds';
const CALLS_METRIC = 'darkroom_provider_calls_total';
/** The outcomes on which alerts are based. */
const VERDICTS_OF_ALERT_RULES = ['answered', 'provider_unavailable', 'service_misconfigured'];
const DURATION_BUCKETS_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 120];

/**
 * Declares the metrics of model calls. It is called once per process.
 * @param offered the names of the providers whose models are offered.
 */
function createProviderMeter(offered: readonly string[]): ProviderMeter {
  for (const name of [DURATION_METRIC, CALLS_METRIC]) register.removeSingleMetric(name);
  const durations = new Histogram({
    name: DURATION_METRIC,
    help: 'Time of one try of a model call.',
    labelNames: ['provider'],
    buckets: DURATION_BUCKETS_SECONDS,
  });
  const calls = new Counter({
    name: CALLS_METRIC,
    help: 'Tries of model calls, by how they ended: answered, or the code of the failure.',
    labelNames: ['provider', 'verdict'],
  });
  // The counters start at zero. Otherwise an alert would miss the first failure, because the series would begin at one.
  for (const provider of offered)
    for (const verdict of VERDICTS_OF_ALERT_RULES) calls.inc({ provider, verdict }, 0);
  return (provider, outcome, elapsedMs) => {
    durations.observe({ provider }, elapsedMs / 1_000);
    calls.inc({ provider, verdict: outcome });
  };
}
