import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { Type } from '@sinclair/typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TransformTaskResult } from '../../../workers/protocol.ts';
import { openZipArchive, type ZipArchiveEntry } from '../../platform/archive.ts';
import { successEnvelope } from '../../platform/http/envelope.ts';
import { type ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { apiErrorBody } from '../../platform/http/errors/failures.ts';
import { undeclaredNamesIn } from '../../platform/http/errors/shapes.ts';
import { createValidator } from '../../platform/http/errors/validation.ts';
import { acceptHeaderWarnings, preferredType } from '../../platform/http/hooks/negotiation.ts';
import { addWarnings, type CallWarning, warningsText } from '../../platform/http/hooks/warnings.ts';
import { randomText } from '../../platform/ids/ids.ts';
import { nearestName } from '../../platform/ids/nearest.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import type { RequestedStep } from '../catalogue/plan/step.ts';
import { formatOfContentType, measurementHeadersOf } from './metered-call.ts';
import { type ResultLink, resultLinkBody, type TemporaryResults } from './results.ts';
import { RequestedOutput, RequestedOutputs } from './transform-schema.ts';

/** Several results of one image, as sent: the steps that run once for all results, and the work of each. */
export interface RequestedOutputsWork {
  first: readonly RequestedStep[];
  outputs: readonly RequestedOutput[];
}

/**
 * @throws ApiError invalid_param on outputs, or `outputs[i]…`, when the check finds a violation.
 */
const validateOutputs = createValidator(Type.Object({ outputs: RequestedOutputs }), 'outputs');

/** The fields that define the work of an output. Each output has exactly one of them. */
const WORK_FIELDS = ['op', 'steps', 'preset'] as const;

/**
 * Checks the shape of outputs as they were sent. Their work is checked later.
 * @throws ApiError invalid_param on outputs, or `outputs[i]…`.
 */
export function parseSentOutputs(sent: unknown): RequestedOutput[] {
  if (Array.isArray(sent) && sent.length === 1 && isJsonObject(sent[0])) throw singleOutputError(sent[0]);
  if (Array.isArray(sent)) checkOutputNames(sent);
  const { outputs } = validateOutputs({ outputs: sent });
  for (const [index, output] of outputs.entries()) checkOutputWork(output, `outputs[${index}]`);
  return outputs;
}

/**
 * Checks that each output has a name, and that no two names are equal. A name in a misspelt field is left to the next
 * check.
 */
function checkOutputNames(sent: readonly unknown[]): void {
  const names = new Set<unknown>();
  const fields = Object.keys(RequestedOutput.properties);
  for (const [index, output] of sent.entries()) {
    if (!isJsonObject(output)) continue;
    const isMisnamed = undeclaredNamesIn(output, RequestedOutput).some(
      (field) => nearestName(field, fields) === 'name',
    );
    if (isMisnamed) continue;
    const { name } = output;
    const param = `outputs[${index}].name`;
    const free = `output-${index + 1}`;
    if (name === undefined) {
      const message = `${param} is missing, and this call needs it: send text such as small, a different name for each output.`;
      throw invalidParamError(param, message, { missing: [param] }, [{ param, add: free }]);
    }
    if (names.has(name)) {
      const message = `${param} is ${name}, like the name of an earlier output: give each output a different name.`;
      throw invalidParamError(param, message, { received: name }, [{ param, replace: free }]);
    }
    names.add(name);
  }
}

/** The error for `outputs` with only one entry. Its work should be sent as the work of the call. */
function singleOutputError({ name: _, ...work }: Record<string, unknown>): ApiError {
  const message =
    'outputs is a list of 2 to 20 entries, and this has one: send its op, steps or preset as fields of the call.';
  return invalidParamError('outputs', message, { limit: 2, instead: [work] });
}

/** Checks that an output has exactly one of op, steps and preset, and that it has parameters only with an op. */
function checkOutputWork(output: RequestedOutput, where: string): void {
  const [first, second] = WORK_FIELDS.filter((name) => output[name] !== undefined);
  if (first === undefined) {
    const message = `${where} has no work: send op with its parameters, steps, or preset.`;
    throw invalidParamError(where, message, { missing: [...WORK_FIELDS] });
  }
  if (second !== undefined) {
    const message = `${where} has both ${first} and ${second}: send one of them.`;
    throw invalidParamError(`${where}.${second}`, message);
  }
  if (output.parameters !== undefined && first !== 'op') {
    const message = `${where}.parameters must be left out beside ${first}: they are for op.`;
    throw invalidParamError(`${where}.parameters`, message);
  }
}

export const MULTIPART_MIXED_TYPE = 'multipart/mixed';
export const ZIP_TYPE = 'application/zip';

export type OutputResultOrError = { name: string } & (
  | { picture: TransformTaskResult; warnings: readonly CallWarning[] }
  | { refusal: ApiError }
);

interface OutputFile {
  name: string;
  contentType: string;
  extension: string;
  headers: Record<string, string>;
  data: Uint8Array;
}

/** Sends the outputs as multipart/mixed, or as a ZIP archive if the client prefers that. */
export async function sendOutputs(
  request: FastifyRequest,
  reply: FastifyReply,
  outputs: readonly OutputResultOrError[],
  now: Date,
): Promise<FastifyReply> {
  const files = outputs.map((output) => outputFileOf(output, request.id));
  const type =
    preferredType(request.headers.accept ?? '*/*', [MULTIPART_MIXED_TYPE, ZIP_TYPE]) ?? MULTIPART_MIXED_TYPE;
  addWarnings(reply, acceptHeaderWarnings(request, type));
  if (type === ZIP_TYPE) return sendArchive(reply, files, now);
  const boundary = randomText(24);
  const pieces = multipartChunksOf(files, boundary);
  const sizeBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  // The chunks are not joined into one buffer, because copying tens of megabytes would block the event loop.
  return reply
    .type(`${MULTIPART_MIXED_TYPE}; boundary=${boundary}`)
    .header('content-length', String(sizeBytes))
    .send(Readable.from(pieces));
}

/** Handles `response=url`: stores the outputs, and sends a link to each picture, or the error of the output. */
export async function sendOutputLinks(
  request: FastifyRequest,
  outputs: readonly OutputResultOrError[],
  results: TemporaryResults,
) {
  const linked: ({ name: string } & (ResultLink | { error: unknown }))[] = [];
  for (const output of outputs) {
    const { name } = output;
    if ('refusal' in output) {
      linked.push({ name, error: apiErrorBody(output.refusal, request.id).error });
      continue;
    }
    const { picture, warnings } = output;
    const link = resultLinkBody(await results.store(picture), picture);
    linked.push({ name, ...link, ...(warnings.length > 0 && { warnings: warningsText(warnings) }) });
  }
  return successEnvelope('Outputs made.', { outputs: linked });
}

function outputFileOf(output: OutputResultOrError, requestId: string): OutputFile {
  const { name } = output;
  if ('refusal' in output) {
    const data = Buffer.from(JSON.stringify(apiErrorBody(output.refusal, requestId)));
    return { name, contentType: 'application/json', extension: 'error.json', headers: {}, data };
  }
  const { picture, warnings } = output;
  const format = formatOfContentType(picture);
  return {
    name,
    contentType: picture.contentType,
    extension: format === 'jpeg' ? 'jpg' : format,
    headers: {
      'X-Service-Format': format,
      'X-Service-Width': String(picture.width),
      'X-Service-Height': String(picture.height),
      ...measurementHeadersOf(picture),
      ...(warnings.length > 0 && { 'X-Service-Warnings': warningsText(warnings) }),
    },
    data: picture.data,
  };
}

/** The chunks of a multipart body (RFC 2046, 5.1). */
function multipartChunksOf(files: readonly OutputFile[], boundary: string): Uint8Array[] {
  const pieces: Uint8Array[] = files.flatMap(({ name, contentType, extension, headers, data }) => {
    const lines = Object.entries({
      'Content-Type': contentType,
      'Content-Length': String(data.length),
      'Content-Disposition': `attachment; name="${name}"; filename="${name}.${extension}"`,
      ...headers,
    }).map(([header, value]) => `${header}: ${value}\r\n`);
    return [Buffer.from(`--${boundary}\r\n${lines.join('')}\r\n`), data, Buffer.from('\r\n')];
  });
  return [...pieces, Buffer.from(`--${boundary}--\r\n`)];
}

async function sendArchive(
  reply: FastifyReply,
  files: readonly OutputFile[],
  now: Date,
): Promise<FastifyReply> {
  const entries = files.map(({ name, extension, data }): ZipArchiveEntry => {
    return {
      name: `${name}.${extension}`,
      sizeBytes: data.length,
      digest: '',
      checksum: crc32(data),
      open: async ({ start, end }) => Readable.from([data.subarray(start, end + 1)]),
    };
  });
  const { sizeBytes, stream } = await openZipArchive(entries, now);
  return reply.type(ZIP_TYPE).header('content-length', String(sizeBytes)).send(stream(null));
}
