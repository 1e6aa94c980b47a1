import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import {
  completeBaseUrl,
  type EndpointRequest,
  objectOrEmpty,
  type ProviderEndpoint,
  requestProviderJson,
} from './exchange.ts';
import { fetchProviderPicture, pictureDataUrl } from './pictures.ts';
import {
  type ModelRequest,
  type Provider,
  type ProviderCall,
  ProviderError,
  parametersForProvider,
  type RawModelAnswer,
  redactSecrets,
  rejectedFault,
  unavailableFault,
} from './provider.ts';

/** Parameters that callers cannot send, because the service requests one picture per call. */
const RESERVED_PARAMETERS = ['num_outputs', 'num_images', 'number_of_images'];
const RUNNING_STATUSES = ['starting', 'processing', 'queued'];
const CONTENT_POLICY_PATTERN = /nsfw|safety|sensitive|flagged|moderation|content policy|prohibited/i;
/**
 * The pauses between polls of a prediction, in milliseconds. Each pause is longer than the one before by the factor, up
 * to `last`.
 */
const POLL_BACKOFF_MS = { first: 200, factor: 1.4, last: 3_000 };
const CANCEL_TIMEOUT_MS = 5_000;
/** How many polls may fail. A failed poll is repeated, because the prediction continues and must be paid for. */
const MAX_FAILED_POLLS = 5;

interface ReplicateSettings {
  token: string;
  baseUrl: string;
  outbound: OutboundRequests;
}

/**
 * Calls the API of Replicate and of compatible servers. A prediction is submitted, polled until it ends, and cancelled
 * if it takes too long. Its id is stored before the first poll, so that another process that takes over the item
 * continues the prediction instead of paying for a second one. Reference: https://replicate.com/docs/reference/http
 */
export function createReplicate(settings: ReplicateSettings): Provider {
  const { token, outbound } = settings;
  const endpoint: ProviderEndpoint = {
    baseUrl: completeBaseUrl(settings.baseUrl, 'https://api.replicate.com/v1'),
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    secrets: [token],
  };
  return {
    async run(request, context) {
      const begun = (await findEarlierPrediction(context)) ?? (await submitPrediction(request, context));
      const ended = await waitForEnd(begun, context);
      return readAnswer(ended, context.signal);
    },
  };

  async function submitPrediction(request: ModelRequest, call: ProviderCall): Promise<Prediction> {
    const prediction = await requestPrediction(writeSubmission(request), call.signal);
    try {
      await call.keep(prediction.id);
    } catch (error) {
      // The prediction is cancelled, because its id is not stored, so nobody could poll it later.
      await cancelPrediction(prediction.id);
      throw error;
    }
    return prediction;
  }

  /** The prediction that an earlier owner of the item submitted; undefined if there is none, or it was deleted. */
  async function findEarlierPrediction({ requestId, signal }: ProviderCall): Promise<Prediction | undefined> {
    if (requestId === undefined) return undefined;
    try {
      return await pollPrediction(requestId, signal);
    } catch (error) {
      if (error instanceof ProviderError && error.errorClass !== 'unavailable') return undefined;
      throw error;
    }
  }

  async function pollPrediction(id: string, signal: AbortSignal): Promise<Prediction> {
    return requestPrediction({ path: `/predictions/${encodeURIComponent(id)}`, method: 'GET' }, signal);
  }

  /** Makes a call that returns a prediction. The output of a finished prediction may be a picture. */
  async function requestPrediction(call: EndpointRequest, signal: AbortSignal): Promise<Prediction> {
    const answer = await requestProviderJson(endpoint, { ...call, answersPicture: true }, signal);
    const { id, status, error, output } = objectOrEmpty(answer);
    if (typeof id === 'string' && typeof status === 'string') return { id, status, error, output };
    throw unavailableFault('The answer of the provider is not a prediction.');
  }

  async function waitForEnd(begun: Prediction, { signal }: ProviderCall): Promise<Prediction> {
    let prediction = begun;
    let failedPolls = 0;
    try {
      let waitMs = POLL_BACKOFF_MS.first;
      while (RUNNING_STATUSES.includes(prediction.status)) {
        await sleep(waitMs, undefined, { signal });
        waitMs = Math.min(waitMs * POLL_BACKOFF_MS.factor, POLL_BACKOFF_MS.last);
        try {
          prediction = await pollPrediction(begun.id, signal);
          failedPolls = 0;
        } catch (error) {
          failedPolls += 1;
          const isTemporary = error instanceof ProviderError && error.errorClass === 'unavailable';
          if (!isTemporary || failedPolls >= MAX_FAILED_POLLS) throw error;
          await sleep(error.retryAfterMs ?? 0, undefined, { signal });
        }
      }
      return prediction;
    } catch (error) {
      if (isDeadlineAbort(signal) || !signal.aborted) await cancelPrediction(begun.id);
      throw error;
    }
  }

  /**
   * Cancels a prediction at its deadline or after an error. It is not called when the process stops, because another
   * process then continues the prediction.
   */
  async function cancelPrediction(id: string): Promise<void> {
    const path = `/predictions/${encodeURIComponent(id)}/cancel`;
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    await requestProviderJson(endpoint, { path }, signal).catch(() => undefined);
  }

  async function readAnswer(prediction: Prediction, signal: AbortSignal): Promise<RawModelAnswer> {
    const { status, error, output } = prediction;
    if (status !== 'succeeded') {
      const reason = typeof error === 'string' && error !== '' ? error : `The prediction ended as ${status}.`;
      const message = redactSecrets(reason, endpoint.secrets);
      throw CONTENT_POLICY_PATTERN.test(message) ? rejectedFault(message) : unavailableFault(message);
    }
    const [first] = Array.isArray(output) ? output : [output];
    if (typeof first !== 'string') throw unavailableFault('The model answered without an image.');
    return { kind: 'image', bytes: await fetchProviderPicture(first, endpoint, outbound, signal) };
  }
}

interface Prediction {
  id: string;
  status: string;
  error: unknown;
  output: unknown;
}

function isDeadlineAbort({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === 'TimeoutError';
}

/**
 * The path and the body that submit a prediction. For an official model, `owner/name`, the path names the model. For
 * `owner/name:version` or a bare version, the body contains the version.
 */
function writeSubmission(request: ModelRequest) {
  const { providerModel, fields, prompt, pictures } = request;
  const [image, ...others] = pictures;
  const takesSeveralImages = fields.images !== undefined;
  const input = {
    ...parametersForProvider(request, RESERVED_PARAMETERS),
    ...(prompt !== undefined && fields.prompt !== '' && { [fields.prompt ?? 'prompt']: prompt }),
    ...(takesSeveralImages &&
      pictures.length > 0 && { [fields.images ?? 'images']: pictures.map(pictureDataUrl) }),
    ...(!takesSeveralImages && image !== undefined && { [fields.image ?? 'image']: pictureDataUrl(image) }),
  };
  if (!takesSeveralImages && others.length > 0) throw rejectedFault('This model takes one picture.');
  const [name = '', version] = providerModel.split(':');
  if (version === undefined && name.includes('/'))
    return { path: `/models/${name}/predictions`, json: { input } };
  return { path: '/predictions', json: { version: version ?? name, input } };
}
