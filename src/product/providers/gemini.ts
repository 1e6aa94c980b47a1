import { parseModelJson } from './answers.ts';
import { completeBaseUrl, objectOrEmpty, type ProviderEndpoint, requestProviderJson } from './exchange.ts';
import { decodeBase64Picture } from './pictures.ts';
import {
  type ModelRequest,
  type Provider,
  parametersForProvider,
  type RawModelAnswer,
  rejectedFault,
  unavailableFault,
} from './provider.ts';

/** Parameters that callers cannot send, because the service sets them. */
const RESERVED_PARAMETERS = [
  'candidateCount',
  'responseModalities',
  'responseMimeType',
  'responseSchema',
  'responseJsonSchema',
];
/** Parameters that Gemini expects within the object `imageConfig`. */
const IMAGE_CONFIG_PARAMETERS = ['aspectRatio', 'imageSize'];
/** Matches finish reasons which mean that the content was refused. */
const CONTENT_POLICY_PATTERN = /SAFETY|PROHIBITED|BLOCKLIST|SPII|RECITATION|IMAGE_OTHER|MODERATION/;

/**
 * Calls the Gemini API. Its method models.generateContent returns both pictures and JSON. The vendor's package is not
 * used, for the reasons given in openai.ts. Reference: https://ai.google.dev/api/generate-content
 */
export function createGemini({ key, baseUrl }: { key: string; baseUrl: string }): Provider {
  const endpoint: ProviderEndpoint = {
    baseUrl: completeBaseUrl(baseUrl, 'https://generativelanguage.googleapis.com/v1beta'),
    headers: key === '' ? {} : { 'x-goog-api-key': key },
    secrets: [key],
  };
  return {
    async run(request, { signal }) {
      const path = `/models/${encodeURIComponent(request.providerModel)}:generateContent`;
      const call = { path, json: requestBodyOf(request), answersPicture: request.op !== 'analyze' };
      return readGeminiAnswer(await requestProviderJson(endpoint, call, signal), request);
    },
  };
}

function requestBodyOf(request: ModelRequest): Record<string, unknown> {
  const { op, prompt = '', pictures, schema = {} } = request;
  const own = Object.entries(parametersForProvider(request, RESERVED_PARAMETERS));
  const ofTheImage = own.filter(([name]) => IMAGE_CONFIG_PARAMETERS.includes(name));
  const ofTheCall = own.filter(([name]) => !IMAGE_CONFIG_PARAMETERS.includes(name));
  const answerFormat =
    op === 'analyze'
      ? { responseMimeType: 'application/json', responseJsonSchema: schema }
      : { responseModalities: ['TEXT', 'IMAGE'] };
  const images = pictures.map(({ mimeType, bytes }) => ({
    inlineData: { mimeType, data: Buffer.from(bytes).toString('base64') },
  }));
  return {
    contents: [{ role: 'user', parts: [{ text: prompt }, ...images] }],
    generationConfig: {
      ...Object.fromEntries(ofTheCall),
      ...answerFormat,
      ...(ofTheImage.length > 0 && { imageConfig: Object.fromEntries(ofTheImage) }),
    },
  };
}

function readGeminiAnswer(answer: unknown, { op }: ModelRequest): RawModelAnswer {
  const { candidates, promptFeedback } = objectOrEmpty(answer);
  const { blockReason } = objectOrEmpty(promptFeedback);
  if (typeof blockReason === 'string') throw rejectedFault(`The prompt was blocked: ${blockReason}.`);
  const candidate = objectOrEmpty(Array.isArray(candidates) ? candidates[0] : undefined);
  const { parts } = objectOrEmpty(candidate.content);
  const list = Array.isArray(parts) ? parts.map(objectOrEmpty) : [];
  const image = list
    .map(({ inlineData }) => objectOrEmpty(inlineData).data)
    .find((data) => data !== undefined);
  if (op !== 'analyze' && image !== undefined) return { kind: 'image', bytes: decodeBase64Picture(image) };
  const reason = String(candidate.finishReason ?? '');
  if (CONTENT_POLICY_PATTERN.test(reason)) throw rejectedFault(`The model withheld its answer: ${reason}.`);
  if (op !== 'analyze') throw unavailableFault('The model answered without an image.');
  return { kind: 'json', value: parseModelJson(list.map(({ text }) => text ?? '').join('')) };
}
