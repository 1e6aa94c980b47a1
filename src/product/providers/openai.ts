import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import { parseModelJson } from './answers.ts';
import { completeBaseUrl, objectOrEmpty, type ProviderEndpoint, requestProviderJson } from './exchange.ts';
import { decodeBase64Picture, fetchProviderPicture, pictureDataUrl } from './pictures.ts';
import {
  type ModelRequest,
  type Provider,
  parametersForProvider,
  type RawModelAnswer,
  redactSecrets,
  rejectedFault,
} from './provider.ts';

/**
 * Parameters that callers cannot send, because the service sets them: it requests one picture per call, without
 * streaming.
 */
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
 * chat/completions. The `openai` package is not used, because it retries, follows redirects and reads environment
 * variables on its own, and is large for three calls. Reference: https://platform.openai.com/docs/api-reference/images
 */
export function createOpenAi(settings: {
  key: string;
  baseUrl: string;
  outbound: OutboundRequests;
}): Provider {
  const { key, outbound } = settings;
  const endpoint: ProviderEndpoint = {
    baseUrl: completeBaseUrl(settings.baseUrl, 'https://api.openai.com/v1'),
    headers: key === '' ? {} : { authorization: `Bearer ${key}` },
    secrets: [key],
  };
  return {
    async run(request, { signal }) {
      if (request.op === 'analyze') {
        const chat = { path: '/chat/completions', json: chatBodyOf(request) };
        const answer = await requestProviderJson(endpoint, chat, signal);
        return readChatAnswer(answer, endpoint);
      }
      const call =
        request.pictures.length === 0
          ? { path: '/images/generations', json: generationParametersOf(request) }
          : { path: '/images/edits', form: editFormOf(request) };
      const answer = await requestProviderJson(endpoint, { ...call, answersPicture: true }, signal);
      return readImage(answer, signal);
    },
  };

  async function readImage(answer: unknown, signal: AbortSignal): Promise<RawModelAnswer> {
    const { data } = objectOrEmpty(answer);
    const { b64_json: base64, url } = objectOrEmpty(Array.isArray(data) ? data[0] : undefined);
    if (typeof url === 'string' && base64 === undefined)
      return { kind: 'image', bytes: await fetchProviderPicture(url, endpoint, outbound, signal) };
    return { kind: 'image', bytes: decodeBase64Picture(base64) };
  }
}

function generationParametersOf(request: ModelRequest): Record<string, unknown> {
  const { providerModel: model, prompt = '' } = request;
  return { ...parametersForProvider(request, RESERVED_PARAMETERS), model, prompt, n: 1 };
}

function editFormOf(request: ModelRequest): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(generationParametersOf(request)))
    form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  const name = request.pictures.length === 1 ? 'image' : 'image[]';
  for (const [index, picture] of request.pictures.entries()) {
    const extension = picture.mimeType.slice('image/'.length);
    form.append(name, new Blob([picture.bytes], { type: picture.mimeType }), `picture-${index}.${extension}`);
  }
  return form;
}

function chatBodyOf({ providerModel: model, prompt = '', pictures, schema = {} }: ModelRequest) {
  const images = pictures.map((picture) => ({
    type: 'image_url',
    image_url: { url: pictureDataUrl(picture) },
  }));
  return {
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...images] }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: false } },
  };
}

function readChatAnswer(answer: unknown, { secrets }: ProviderEndpoint): RawModelAnswer {
  const { choices } = objectOrEmpty(answer);
  const choice = objectOrEmpty(Array.isArray(choices) ? choices[0] : undefined);
  const { content, refusal } = objectOrEmpty(choice.message);
  if (typeof refusal === 'string' && refusal !== '') throw rejectedFault(redactSecrets(refusal, secrets));
  if (choice.finish_reason === 'content_filter')
    throw rejectedFault('The model withheld its answer: content filter.');
  return { kind: 'json', value: parseModelJson(content) };
}
