import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import { ApiError, type ErrorCode } from '../../platform/http/errors/errors.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { SettingsOf } from '../../platform/setting.ts';
import type { Coordination } from '../../platform/stores/coordination/port.ts';
import { present } from '../../platform/values/present.ts';
import { findModel, type Model, type Models, type ProviderName } from '../models/models.ts';
import { pricedParameters } from '../models/prices.ts';
import type { AnswerSchemas } from './answer-schemas.ts';
import { checkedAnswer, type ModelAnswer } from './answers.ts';
import type { providersSettings } from './config.ts';
import { createProviderMeter } from './meter.ts';
import { preparedPicture } from './pictures.ts';
import {
  type CallContext,
  type ModelRequest,
  type ModelTask,
  type Provider,
  ProviderFault,
  unavailable,
} from './provider.ts';
import { providersOf } from './registry.ts';
import { nextTryMs } from './retrying.ts';
import { createSlots } from './slots.ts';

/** One attempt of one item on a model. */
export interface ModelCall extends ModelTask, Omit<CallContext, 'signal'> {
  /** The id of the model. */
  model: string;
  /**
   * Returns the item's picture, if it has one, followed by the pictures that are sent with every call. It is called
   * once a slot at the provider is held. The bytes are transferred and must not be used again.
   */
  pictures(): Promise<readonly Uint8Array<ArrayBuffer>[]>;
  accountId: string;
}

export type ModelOutcome =
  | ModelAnswer
  /** Every slot at the provider is taken. This does not count as an attempt. */
  | { kind: 'busy'; retryAfterMs: number }
  | {
      kind: 'failure';
      code: ErrorCode;
      /** The message for the caller, without keys. */
      message: string;
      /** Milliseconds until the next attempt; absent when this was the last one. */
      retryAfterMs?: number;
    };

/** The only way to call models. */
export interface Providers {
  /** The most items that run or wait for a slot; further calls return `busy`. */
  width: number;
  /** Rejects only with the signal's reason when it aborts, and when `keep` or `pictures` rejects. */
  run(call: ModelCall, signal: AbortSignal): Promise<ModelOutcome>;
  /** Ends the threads of the local models. */
  stop(): Promise<void>;
}

export interface ProvidersOptions {
  settings: SettingsOf<typeof providersSettings>;
  models: Models;
  imageWorkers: ImageWorkers;
  outbound: Outbound;
  answerSchemas: AnswerSchemas;
  coordination: Coordination;
  hostId: string;
  processId: string;
  log: { error(context: object, message: string): void };
}

/** The pause before a call without a slot is repeated. */
const BUSY_MS = 1_000;
const SANDBOX_WAIT_MS = 100;

const CODES = {
  rejected: 'provider_rejected',
  unavailable: 'provider_unavailable',
  misconfigured: 'service_misconfigured',
} as const;

export function openProviders(options: ProvidersOptions): Providers {
  const { settings, models, imageWorkers, answerSchemas, coordination, hostId, processId, log } = options;
  const { PROVIDER_TIMEOUT_SECONDS, PROVIDER_CONCURRENCY, PROVIDER_RETRY_SECONDS } = settings;
  const providers = providersOf(options);
  const meter = createProviderMeter(Object.keys(providers));
  const slots = createSlots({ coordination, hostId, processId, limit: PROVIDER_CONCURRENCY });

  return {
    width: 2 * PROVIDER_CONCURRENCY * Object.keys(providers).length,
    async run(call, signal) {
      const model = findModel(models, call.model);
      const provider = model && providers[model.provider];
      if (model === undefined || provider === undefined)
        return failure('service_misconfigured', `The model ${call.model} is no longer offered.`);
      const done = await slots.run(model.provider, call.accountId, () =>
        timedAttempt(call, model, provider, signal),
      );
      return done === undefined ? { kind: 'busy', retryAfterMs: BUSY_MS } : done.done;
    },
    async stop() {
      await Promise.all([
        answerSchemas.close(),
        ...Object.values(providers).map((provider) => provider.close?.()),
      ]);
    },
  };

  async function timedAttempt(
    call: ModelCall,
    model: Model,
    provider: Provider,
    signal: AbortSignal,
  ): Promise<ModelOutcome> {
    const startedMs = performance.now();
    const deadline = AbortSignal.timeout(PROVIDER_TIMEOUT_SECONDS * 1_000);
    const ended = AbortSignal.any([deadline, signal]);
    const outcome = await attempt(call, model, provider, ended).catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      const late = unavailable(`The model did not answer within ${PROVIDER_TIMEOUT_SECONDS} s.`);
      return classifyFailure(deadline.aborted ? late : error, call, model.provider);
    });
    meter(
      model.provider,
      outcome.kind === 'failure' ? outcome.code : 'answered',
      performance.now() - startedMs,
    );
    return outcome;
  }

  async function attempt(
    call: ModelCall,
    model: Model,
    provider: Provider,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const request = await prepareRequest(call, model, signal);
    const { requestId } = call;
    const keep = (id: string) => lostWhenRejected(() => call.keep(id));
    const context: CallContext = { signal, keep, ...present({ requestId }) };
    const findProblem = (schema: object, value: unknown) =>
      answerSchemas.findProblem(call.accountId, schema, value);
    return checkedAnswer(await provider.run(request, context), request, findProblem);
  }

  async function prepareRequest(call: ModelCall, model: Model, signal: AbortSignal): Promise<ModelRequest> {
    const { op, prompt, parameters, schema, itemIndex, attempt, accountId } = call;
    const files = await lostWhenRejected(() => call.pictures());
    const preparing = { imageWorkers, accountId, signal };
    const pictures = await Promise.all(files.map((bytes) => preparedPicture(bytes, model, preparing)));
    return {
      ...{ op, itemIndex, attempt },
      ...present({ prompt, schema }),
      parameters: { ...parameters, ...pricedParameters(model, parameters) },
      providerModel: model.providerModel,
      fields: model.fields ?? {},
      pictures,
    };
  }

  function classifyFailure(error: unknown, { attempt }: ModelCall, name: ProviderName): ModelOutcome {
    if (error instanceof LostItem) throw error.cause;
    if (error instanceof ApiError) {
      // A picture could not be prepared: the item's input is at fault, or the image pool is unavailable for now.
      const again = error.retryable ? nextTryMs(attempt, waitsFor('sandbox')) : undefined;
      return failure(error.code, error.message, again);
    }
    if (!(error instanceof ProviderFault)) {
      log.error({ err: error, provider: name }, 'A model call failed for no known reason');
      return failure('internal_error', 'The model call failed.', nextTryMs(attempt, waitsFor(name)));
    }
    const { errorClass, message, retryAfterMs } = error;
    if (errorClass === 'misconfigured') {
      const refused = 'A provider refuses this service: see its key, account and model names';
      log.error({ provider: name, providerMessage: message }, refused);
    }
    const again = errorClass === 'unavailable' ? nextTryMs(attempt, waitsFor(name), retryAfterMs) : undefined;
    return failure(CODES[errorClass], message, again);
  }

  function waitsFor(name: ProviderName): readonly number[] {
    const isHere = name === 'sandbox' || name === 'local';
    return PROVIDER_RETRY_SECONDS.map((seconds) => (isHere ? SANDBOX_WAIT_MS : seconds * 1_000));
  }
}

/** A callback of the caller rejected, for example because the item has another owner by now. */
class LostItem extends Error {
  constructor(cause: unknown) {
    super('The item was lost', { cause });
  }
}

/** Wraps an error of the caller's callbacks, to distinguish it from an error of the provider. */
async function lostWhenRejected<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LostItem(error);
  }
}

function failure(code: ErrorCode, message: string, retryAfterMs?: number): ModelOutcome {
  return { kind: 'failure', code, message, ...present({ retryAfterMs }) };
}
