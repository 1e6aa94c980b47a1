import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { type TSchema, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { imageEncodingOf } from '../../imaging/images/unsupported-formats.ts';
import { mediaTypeOf } from '../../platform/http/bodies/image-body.ts';
import { parseJson } from '../../platform/http/bodies/json.ts';
import {
  type AdditionalFile,
  concatenateBytes,
  Multipart,
  type MultipartFile,
} from '../../platform/http/bodies/multipart.ts';
import { collectBody } from '../../platform/http/bodies/streamed-body.ts';
import type { CallCorrection, CorrectableCall } from '../../platform/http/errors/corrections.ts';
import { type ApiError, exclusiveFieldError, invalidParamError } from '../../platform/http/errors/errors.ts';
import {
  type FieldHint,
  mismatchedValueDiagnosis,
  undeclaredFieldsDiagnosis,
} from '../../platform/http/errors/violations.ts';
import { DRY_RUN_QUERY_NAMES } from '../../platform/http/fields.ts';
import { fieldNamesOf, misplacedFieldsRefusal } from '../../platform/http/hooks/sent-fields.ts';
import { likelyNames } from '../../platform/ids/nearest.ts';
import { isPublicAddress } from '../../platform/outbound/target.ts';
import { isJsonObject } from '../../platform/values/json.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import { MEGABYTE_BYTES } from '../../platform/values/units.ts';
import { findStepMeantByKey, WITHIN_PARAMETERS } from '../catalogue/index.ts';
import { checkJsonSize } from '../catalogue/plan/step.ts';
import type { DeclaredImage } from './declared-type.ts';

/** The maximum size of an image in a synchronous call, in bytes, whatever its source. */
export const MAX_IMAGE_BYTES = 25 * MEGABYTE_BYTES;
/** The maximum size of a multipart body with such an image, in bytes. */
export const MAX_MULTIPART_BYTES = 34 * MEGABYTE_BYTES;

/**
 * The fields besides the image that a call may send in a JSON body or as multipart fields. The same fields in the query
 * take precedence.
 */
export interface BodyFields {
  op?: string;
  preset?: string;
  parameters?: Record<string, unknown>;
  /** The steps as sent. They are checked in transform-call.ts. */
  steps?: unknown;
  /** The outputs as sent. They are checked in transform-call.ts. */
  outputs?: unknown;
  /** The op's own parameters in a multipart body, as text by name. */
  texts?: Record<string, string>;
}

export type ImageSource =
  | ({ kind: 'bytes' } & DeclaredImage)
  | { kind: 'url'; url: string }
  | { kind: 'asset'; assetId: string };

/** What a body contains: where the image comes from, the other fields, and the other files. */
export type CallInput = ImageSource & { fields: BodyFields; files: readonly AdditionalFile[] };

/**
 * The images of a call in the form that a job takes: asset ids. Absent for bytes and URLs, which must be uploaded
 * first.
 */
export interface JobInputs {
  assetIds?: readonly string[];
}

/** Matches a signed link to an asset of this service. */
const ASSET_LINK_PATTERN = /\/api\/v1\/assets\/(ast_\w+)\/content\?/;

/** The asset id in a signed link; undefined for any other URL. */
export function assetIdInLink(url: string): string | undefined {
  return ASSET_LINK_PATTERN.exec(url)?.[1];
}

export function jobInputsOf(source: ImageSource): JobInputs {
  if (source.kind === 'bytes') return {};
  const assetId = source.kind === 'asset' ? source.assetId : assetIdInLink(source.url);
  return assetId === undefined ? {} : { assetIds: [assetId] };
}

/** What a body may contain: only an image, or for some calls also the work on it. */
type BodyContents = 'image' | 'image and work';

/**
 * Reads the body of a synchronous call: raw bytes, a multipart form with a part `file`, or JSON that refers to an
 * image.
 * @throws ApiError payload_too_large on `file` or `body`, invalid_param on the field at fault.
 */
export async function readCallInput(
  request: FastifyRequest,
  contents: BodyContents = 'image and work',
): Promise<CallInput> {
  const type = mediaTypeOf(request);
  const body = request.body as Readable;
  if (type === 'application/json') {
    request.body = await request.readJson();
    refuseMisplacedFields(request, contents);
    return parseJsonInput(request.body, contents);
  }
  if (type === 'multipart/form-data') {
    using multipart = await Multipart.open(request, body, {
      bodyLimitBytes: MAX_MULTIPART_BYTES,
      fileLimitBytes: MAX_IMAGE_BYTES,
      ...(contents === 'image and work' && { further: LAYER_FILE_OPTIONS }),
    });
    const file = await readFilePart(multipart.file);
    sentImageBytes.set(request, file.bytes);
    const texts = await multipart.fields();
    request.body = texts;
    refuseMisplacedFields(request, contents);
    refuseFieldSentAsFile(multipart.otherFileNames);
    const files = await multipart.additionalFiles();
    return { kind: 'bytes', ...file, fields: parseMultipartFields(texts, contents), files };
  }
  const bytes = await collectBody(body, request, MAX_IMAGE_BYTES, 'file');
  sentImageBytes.set(request, bytes);
  return { kind: 'bytes', bytes, declaredType: type, declaredBy: 'header', fields: {}, files: [] };
}

/**
 * Parses the fields of a body that was read earlier, from JSON or from the texts of a form.
 * @throws the errors of `readCallInput`.
 */
export function parseBodyFields(
  { body, isForm }: Pick<CorrectableCall, 'body' | 'isForm'>,
  contents: BodyContents = 'image and work',
): BodyFields {
  if (body === undefined) return {};
  if (isForm) return parseMultipartFields(body as Record<string, string>, contents);
  return parseJsonInput(body, contents).fields;
}

export async function readFilePart({ bytes, declaredType }: MultipartFile) {
  return { bytes: await concatenateBytes(await Array.fromAsync(bytes)), declaredType };
}

/** The image that each request sent as bytes. Corrections of a refused request need its width and height. */
const sentImageBytes = new WeakMap<FastifyRequest, Uint8Array>();

/** The bytes of the image of a call. Undefined if they were not read, or if the call refers to its image instead. */
export function findSentImageBytes(request: FastifyRequest): Uint8Array | undefined {
  return sentImageBytes.get(request);
}

/** The fields that only the query may contain. All others may be sent in the body instead. */
const QUERY_ONLY_FIELDS = ['response', ...DRY_RUN_QUERY_NAMES];

/**
 * Refuses fields in the body that belong in the query, and an image in the query, which belongs in the body.
 * @throws ApiError invalid_param on such a field.
 */
function refuseMisplacedFields({ query, body, routeOptions }: FastifyRequest, contents: BodyContents): void {
  const names =
    contents === 'image' ? [...fieldNamesOf(routeOptions.schema?.querystring)] : QUERY_ONLY_FIELDS;
  const refusal =
    misplacedFieldsRefusal(query, IMAGE_FIELDS, 'body') ??
    misplacedFieldsRefusal(body, names, 'query') ??
    (contents === 'image' ? misnamedFieldRefusal(body, names) : undefined);
  if (refusal !== undefined) throw refusal;
}

/** The refusal of a field in the body that means a field of the query, by another name. */
function misnamedFieldRefusal(body: unknown, queryNames: readonly string[]): ApiError | undefined {
  const known = [...IMAGE_FIELDS, ...queryNames];
  for (const [param, value] of Object.entries(isJsonObject(body) ? body : {})) {
    const [meant, ...others] = likelyNames(param, known);
    if (meant === undefined || others.length > 0 || IMAGE_FIELDS.includes(meant)) continue;
    const message = `${param} is not a field here: send ${meant} in the query.`;
    return invalidParamError(param, message, undefined, [
      { param, remove: true, in: 'body' },
      { param: meant, add: value, in: 'query' },
    ]);
  }
  return undefined;
}

/** The fields that a JSON body may have. transform-schema.ts describes their values. */
export const IMAGE_FIELDS = ['assetId', 'url'];
const WORK_FIELDS = ['op', 'parameters', 'preset', 'steps', 'outputs'];

/**
 * Options of the multipart parser. The parser keeps every file that may be a second picture, because the steps that
 * read it may come later in the body.
 */
const LAYER_FILE_OPTIONS = {
  remedy: 'send one image per call, and name "layer" a second one that a step lays over it',
  keeps: (name: string) => !WORK_FIELDS.includes(name),
};

/** Parses a JSON body. It has either `url` or `assetId`, and may have op, preset, parameters, steps and outputs. */
function parseJsonInput(body: unknown, contents: BodyContents): CallInput {
  if (!isJsonObject(body))
    throw invalidParamError('body', 'The body must be a JSON object with url or assetId.');
  const { assetId, url, ...work } = body;
  const unknown = Object.keys(work).filter((name) => contents === 'image' || !WORK_FIELDS.includes(name));
  refuseUnknownFields(unknown, body, contents);
  const fields = parseWorkFields(work);
  const source = parseImageSource({ assetId, url }, { assetId: 'assetId', url: 'url', takesFile: true });
  if (source !== null) return { ...source, fields, files: [] };
  const message = 'The image is missing: give its url, or the assetId of one of your assets.';
  throw exclusiveFieldError('url', message, ['url', 'assetId']);
}

/**
 * The source of an image in a JSON body, by its `url` or its `assetId`; null if neither was sent.
 * @param names the names of these two fields in the call, and whether it accepts a file in their place.
 */
export function parseImageSource(
  { assetId, url }: { assetId: unknown; url: unknown },
  names: { assetId: string; url: string; takesFile?: boolean },
): ImageSource | null {
  if (assetId !== undefined && url !== undefined) {
    const message = `Give ${names.assetId} or ${names.url}, not both.`;
    throw exclusiveFieldError(names.url, message, [names.assetId, names.url]);
  }
  if (url !== undefined) return { kind: 'url', url: parseImageUrl(url, names.url, names.takesFile) };
  if (assetId !== undefined) return { kind: 'asset', assetId: parseText(names.assetId, assetId) };
  return null;
}

const NO_JSON_IMAGE_HINT: FieldHint = {
  says: 'an image within JSON is not read; send its bytes as the body, as a multipart file, or send a url',
  suggest: ['file', 'url', 'assetId'],
};

const CALL_VIOLATION_SUBJECT = { owner: 'this call', noun: 'field' } as const;
const ANY_OBJECT_SCHEMA = Type.Object({}, { additionalProperties: true });

/** Fields that callers send in a body by mistake, because they belong elsewhere or to another service. */
const MISPLACED_FIELDS: Record<string, FieldHint> = {
  assetIds: {
    says: 'it belongs to a job; this call takes assetId, one id as text',
    suggest: ['assetId', 'POST /api/v1/jobs'],
  },
  image: NO_JSON_IMAGE_HINT,
  file: NO_JSON_IMAGE_HINT,
  base64: NO_JSON_IMAGE_HINT,
};

/**
 * Refuses a field such as `op` or `steps` that was sent as a file. Other unknown files are ignored, but ignoring this
 * one would change the work.
 */
function refuseFieldSentAsFile(files: readonly string[]): void {
  const name = files.find((file) => WORK_FIELDS.includes(file));
  if (name === undefined) return;
  const message = `${name} was sent as a file: send it as text (curl: -F '${name}=<${name}.json', with < instead of @).`;
  throw invalidParamError(name, message);
}

function refuseUnknownFields(
  names: readonly string[],
  sent: Record<string, unknown>,
  contents: BodyContents,
): void {
  const isImage = contents === 'image';
  const allowed = isImage ? IMAGE_FIELDS : [...IMAGE_FIELDS, ...WORK_FIELDS];
  const schema = {
    properties: Object.fromEntries(allowed.map((name) => [name, Type.Unknown()])),
    instead: MISPLACED_FIELDS,
    elsewhere: isImage
      ? 'it reads one image and takes nothing else'
      : 'the parameters of op go into parameters, or into the query',
    ...(!isImage && { within: { ...WITHIN_PARAMETERS, checks: () => true } }),
  };
  const [param = ''] = names;
  refuseUndeclaredFields(names, sent, schema, decodingCorrections(param, sent[param]));
}

/**
 * Refuses fields of a body that its schema does not declare.
 * @param certain corrections that replace the likely ones, if there are any.
 */
export function refuseUndeclaredFields(
  [param, ...others]: readonly string[],
  sent: object,
  schema: Partial<TSchema> & { properties: object },
  certain: CallCorrection[] = [],
): void {
  if (param === undefined) return;
  const { message, corrections, suggest } = undeclaredFieldsDiagnosis(
    { param, names: [param, ...others], sent, schema },
    CALL_VIOLATION_SUBJECT,
  );
  const details = { allowed: Object.keys(schema.properties), ...withoutAbsentFields({ suggest }) };
  throw invalidParamError(param, message, details, certain.length > 0 ? certain : corrections);
}

/**
 * The corrections for an image that was sent as text: its decoded bytes are sent as the file of a form. Empty for any
 * other value.
 */
function decodingCorrections(param: string, value: unknown): CallCorrection[] {
  const encoding = typeof value === 'string' ? imageEncodingOf(value) : undefined;
  return encoding === undefined ? [] : [{ param, decode: encoding }];
}

/**
 * Parses a URL and checks its scheme. The scheme is checked here, because the error made here can suggest another way
 * to send the image. The fetcher checks the host.
 * @param takesFile whether the call accepts a file in place of this field.
 */
export function parseImageUrl(value: unknown, param: string, takesFile = false): string {
  const url = parseText(param, value);
  if (/^https?:\/\//i.test(url)) return url;
  const isData = /^data:/i.test(url);
  const message = isData
    ? 'A data: URL is not read: send the bytes themselves as the body or as a multipart file.'
    : `${param} must begin with https:// or http://.`;
  const suggest = isData ? ['file'] : suggestedUrls(url);
  const [replace, ...others] = isData ? [] : urlsIn(url);
  const corrections = takesFile ? decodingCorrections(param, url) : [];
  if (replace !== undefined && others.length === 0) corrections.push({ param, replace });
  const rename = param.replace(/url$/, 'assetId').replace(/Url$/, 'AssetId');
  if (/^ast_\w+$/.test(url)) corrections.push({ param, rename });
  const details = { allowed: ['https', 'http'], ...(suggest.length > 0 && { suggest }) };
  throw invalidParamError(param, message, details, corrections);
}

/** The URLs within a longer text, such as `[photo](https://a.example/b.jpg)`, or the id in `asset://ast_…`. */
function urlsIn(text: string): string[] {
  const searched = text.slice(0, MAX_SEARCHED_CHARACTERS);
  return searched.match(/https?:\/\/[^\s<>()[\]"'`]+|(?<=^asset:\/*)ast_\w+/gi) ?? [];
}

const MAX_SEARCHED_CHARACTERS = 4_000;

/**
 * The URL that was probably meant by an address without a scheme. Empty if the host cannot be on the public internet.
 */
function suggestedUrls(text: string): string[] {
  const [, rest = ''] = /^(?:\/\/)?([\w-]+(?:\.[\w-]+)+(?:[:/].*)?)$/.exec(text) ?? [];
  const host = URL.parse(`https://${rest}`)?.hostname;
  return host === undefined || (isIP(host) !== 0 && !isPublicAddress(host)) ? [] : [`https://${rest}`];
}

function parseMultipartFields(sent: Record<string, string>, contents: BodyContents): BodyFields {
  if (contents === 'image') refuseUnknownFields(Object.keys(sent).slice(0, 1), sent, contents);
  const { op, preset, parameters, steps, outputs, ...texts } = sent;
  const workFields = parseWorkFields({
    op,
    preset,
    parameters: parameters === undefined ? undefined : parseJsonField('parameters', parameters, 'object'),
    steps: steps === undefined ? undefined : parseJsonField('steps', steps, 'list'),
    outputs: outputs === undefined ? undefined : parseJsonField('outputs', outputs, 'list'),
  });
  return { ...workFields, texts };
}

function parseWorkFields({ op, preset, parameters, steps, outputs }: Record<string, unknown>): BodyFields {
  const fields: BodyFields = {};
  if (isJsonObject(op)) throw opAsObjectError(op);
  if (op !== undefined) fields.op = parseText('op', op);
  if (preset !== undefined) fields.preset = parseText('preset', preset);
  if (parameters !== undefined) fields.parameters = parseParameters(parameters);
  if (steps !== undefined) fields.steps = steps;
  if (outputs !== undefined) fields.outputs = outputs;
  return fields;
}

/** The error for an `op` that is an object instead of a name, such as `{"resize": {"width": 9}}`. */
function opAsObjectError(op: Record<string, unknown>): ApiError {
  const [[key, value] = ['', null], ...others] = Object.entries(op);
  const keyed = others.length === 0 ? findStepMeantByKey(key, value) : undefined;
  const message = 'op must be the name of an op, as text; what it takes goes into parameters.';
  if (keyed === undefined) return invalidParamError('op', message);
  const { op: name, parameters } = keyed;
  return invalidParamError('op', message, undefined, [
    { param: 'op', replace: name },
    ...(parameters === undefined ? [] : [{ param: 'parameters', add: parameters }]),
  ]);
}

function parseText(param: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalidParamError(param, `${param} must be a text that is not empty.`);
}

function parseParameters(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) {
    const { message, corrections } = mismatchedValueDiagnosis(
      { path: 'parameters' },
      value,
      ANY_OBJECT_SCHEMA,
      CALL_VIOLATION_SUBJECT,
    );
    throw invalidParamError('parameters', message, undefined, corrections);
  }
  checkJsonSize(value, 'parameters');
  return value;
}

function parseJsonField(param: string, text: string, kind: 'object' | 'list'): unknown {
  const refuse = (problem: string, details?: Record<string, unknown>) =>
    invalidParamError(param, `${param} must be the text of a JSON ${kind}. ${problem}`, details);
  return parseJson(Buffer.from(text), { param, name: param, path: param, refuse });
}
