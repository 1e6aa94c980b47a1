import type { Outbound } from '../../platform/outbound/outbound.ts';
import { jsonIn } from './answers.ts';
import { endpointUrl, objectOf, type ProviderEndpoint, requestJson } from './exchange.ts';
import { dataUrl, pictureAt, pictureInBase64 } from './pictures.ts';
import {
  type ModelRequest,
  type Provider,
  providerRejected,
  type RawAnswer,
  redactSecrets,
  sentParameters,
} from './provider.ts';

/** Parameters that the service sets itself: one picture per call, and no streaming. */
const RESERVED_PARAMETERS = [
  'model',
  'prompt',
  'n',
  'image',
  'image[]',
  'mask',
  'stream',
  'partial_images',
  'response_format',
];

/**
 * Calls the API of OpenAI and of compatible servers (vLLM, LocalAI, Ollama): images/generations, images/edits and
 * chat/completions. The `openai` package is not used, because it retries, follows redirects and reads the environment
 * by itself, and is large for three calls. Reference: https://platform.openai.com/docs/api-reference/images
 */
export function createOpenAi(settings: { key: string; baseUrl: string; outbound: Outbound }): Provider {
  const { key, outbound } = settings;
  const endpoint: ProviderEndpoint = {
    baseUrl: endpointUrl(settings.baseUrl, 'https://api.openai.com/v1'),
    headers: key === '' ? {} : { authorization: `Bearer ${key}` },
    secrets: [key],
  };
  return {
    async run(request, { signal }) {
      if (request.op === 'analyze') {
        const answer = await requestJson(
          endpoint,
          { path: '/chat/completions', json: chatOf(request) },
          signal,
        );
        return readChat(answer, endpoint);
      }
      const call =
        request.pictures.length === 0
          ? { path: '/images/generations', json: generationOf(request) }
          : { path: '/images/edits', form: editOf(request) };
      const answer = await requestJson(endpoint, { ...call, answersPicture: true }, signal);
      return readImage(answer, signal);
    },
  };

  async function readImage(answer: unknown, signal: AbortSignal): Promise<RawAnswer> {
    const { data } = objectOf(answer);
    const { b64_json: base64, url } = objectOf(Array.isArray(data) ? data[0] : undefined);
    if (typeof url === 'string' && base64 === undefined)
      return { kind: 'image', bytes: await pictureAt(url, endpoint, outbound, signal) };
    return { kind: 'image', bytes: pictureInBase64(base64) };
  }
}

function generationOf(request: ModelRequest): Record<string, unknown> {
  const { providerModel: model, prompt = '' } = request;
  return { ...sentParameters(request, RESERVED_PARAMETERS), model, prompt, n: 1 };
}

/** The fields of a generation as a form, with the pictures. */
function editOf(request: ModelRequest): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(generationOf(request)))
    form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  const name = request.pictures.length === 1 ? 'image' : 'image[]';
  for (const [index, picture] of request.pictures.entries()) {
    const extension = picture.mimeType.slice('image/'.length);
    form.append(name, new Blob([picture.bytes], { type: picture.mimeType }), `picture-${index}.${extension}`);
  }
  return form;
}

function chatOf({ providerModel: model, prompt = '', pictures, schema = {} }: ModelRequest) {
  const images = pictures.map((picture) => ({ type: 'image_url', image_url: { url: dataUrl(picture) } }));
  return {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...images] }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: false } },
  };
}

function readChat(answer: unknown, { secrets }: ProviderEndpoint): RawAnswer {
  const { choices } = objectOf(answer);
  const choice = objectOf(Array.isArray(choices) ? choices[0] : undefined);
  const { content, refusal } = objectOf(choice.message);
  if (typeof refusal === 'string' && refusal !== '') throw providerRejected(redactSecrets(refusal, secrets));
  if (choice.finish_reason === 'content_filter')
    throw providerRejected('The model withheld its answer: content filter.');
  return { kind: 'json', value: jsonIn(content) };
}
