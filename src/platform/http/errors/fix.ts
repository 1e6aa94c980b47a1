import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { isJsonObject, parseJsonOrUndefined, truncatedJson } from '../../values/json.ts';
import { withoutAbsentFields } from '../../values/present.ts';
import { mediaTypeOf } from '../bodies/image-body.ts';
import { announcedBytes, collectBody } from '../bodies/streamed-body.ts';
import {
  applyCorrection,
  type CallCorrection,
  type CorrectableCall,
  changesMoreThanFields,
  correctedPartOf,
  correctionsInPixels,
  headerCorrections,
  type PictureSize,
} from './corrections.ts';
import { ApiError } from './errors.ts';
import { checkQueryAndBody } from './validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Checks a call as the route does, after its schemas and without any effect. With it, an error that can certainly
     * be corrected lists in `details.fix` all changes that the call needs. Absent if the route checks no more than its
     * schemas.
     * @throws ApiError as the route refuses the call.
     */
    recheck?: (request: FastifyRequest, call: CorrectableCall) => unknown;
    /**
     * Reads the size of the call's picture. It is needed only if a share of a side was sent in place of pixels. Null if
     * the size is not known.
     */
    pictureSize?: (request: FastifyRequest, call: CorrectableCall) => Promise<PictureSize | null>;
  }
}

const MAX_CORRECTIONS = 20;
/** The most characters of JSON in a query and body that are corrected. Both are checked again after each change. */
const MAX_FIXABLE_CALL_CHARACTERS = 65_536;

/**
 * Adds `details.fix` to an error: the changes, in order, after which the parameters of the call are accepted. The route
 * itself checks a copy of the call after each change, until it refuses nothing. If only some mistakes of the call can
 * be corrected, `details.mistakes` has all of them instead, each with its own changes or its own sentence.
 */
export async function withFixDetails(refusal: ApiError, request: FastifyRequest): Promise<ApiError> {
  const { recheck, pictureSize } = request.routeOptions.config;
  const sent = sentCallOf(request);
  const check = async (corrected: CorrectableCall) => {
    checkQueryAndBody(request, corrected);
    await recheck?.(request, corrected);
  };
  const size = async () => (await pictureSize?.(request, sent)) ?? null;
  if (isCutByFragment(refusal, request))
    return refusal.withDetails({ fix: [{ param: refusal.path, in: 'query', encode: 'percent' }] });
  return withBodyCorrections(refusal, request)
    .then((corrected) => withProvenFix(corrected, sent, check, size))
    .catch((error: unknown) => {
      request.log.error({ err: error }, 'The corrections of a refusal could not be proven');
      return refusal;
    });
}

/**
 * Whether a field of free text, such as a colour, is refused that is empty and ends the query. An unescaped # in its
 * value has probably ended the URL, and the client has the rest.
 */
function isCutByFragment({ path, details = {} }: ApiError, { url }: FastifyRequest): boolean {
  const { received, expected, allowed } = details;
  const isFreeText = received === '' && expected === 'string' && allowed === undefined;
  return isFreeText && /[?&]$/.test(url.slice(0, -`${path}=`.length)) && url.endsWith(`${path}=`);
}

/** The most bytes of a body with an unsupported media type that are read to correct it. */
const MAX_EXAMINED_BODY_BYTES = 65_536;

/**
 * Adds corrections to the refusal of a media type, if the body is JSON or a form. A form with names and values becomes
 * JSON.
 */
async function withBodyCorrections(refusal: ApiError, request: FastifyRequest): Promise<ApiError> {
  const { code, param } = refusal;
  const isFile = /^(image|multipart)\//.test(mediaTypeOf(request));
  if (code !== 'unsupported_media_type' || param !== 'Content-Type' || isFile) return refusal;
  const sizeBytes = announcedBytes(request) ?? 0;
  if (sizeBytes === 0 || sizeBytes > MAX_EXAMINED_BODY_BYTES) return refusal;
  const text = (await collectBody(request.raw, request, MAX_EXAMINED_BODY_BYTES, 'body')).toString();
  const isJson = isJsonObject(parseJsonOrUndefined(text));
  const replace = isJson ? undefined : formValuesIn(text);
  if (!isJson && replace === undefined) return refusal;
  const type = headerCorrections('Content-Type', 'application/json');
  const corrections = isJson ? type : [...type, { param: 'body', replace }];
  return new ApiError(code, refusal.message, { ...refusal, corrections });
}

/**
 * The values of a form in a text such as `op=flip&assetIds[]=…`, by name. Numbers, booleans and lists become values of
 * JSON. Undefined for any other text.
 */
function formValuesIn(text: string): Record<string, unknown> | undefined {
  if (!/^[\w.%[\]-]+=/.test(text)) return undefined;
  const form = new URLSearchParams(text);
  const valuesOf = (name: string) => form.getAll(name).map((value) => parseJsonOrUndefined(value) ?? value);
  return Object.fromEntries(
    [...new Set(form.keys())].map((name) => {
      const values = valuesOf(name);
      return name.endsWith('[]')
        ? [name.slice(0, -2), values]
        : [name, values.length > 1 ? values : values[0]];
    }),
  );
}

/**
 * Adds to an error the changes after which a check passes, or those of the mistakes that can be corrected.
 * @param check throws an ApiError for a call that it refuses.
 * @param pictureSize reads the size of the picture. It is called only if shares of its sides were sent.
 */
export async function withProvenFix(
  refusal: ApiError,
  call: CorrectableCall,
  check: (call: CorrectableCall) => Promise<void>,
  pictureSize: () => Promise<PictureSize | null> = async () => null,
): Promise<ApiError> {
  if (refusal.corrections.some(changesMoreThanFields))
    return refusal.withDetails({ fix: refusal.corrections });
  if (refusal.code !== 'invalid_param' && refusal.corrections.length === 0) return refusal;
  if (
    truncatedJson([call.query, call.body], MAX_FIXABLE_CALL_CHARACTERS + 1).length >
    MAX_FIXABLE_CALL_CHARACTERS
  )
    return refusal;
  const mistakes = await findMistakes(refusal, call, check, pictureSize);
  const corrected = mistakes.flatMap(({ fix }) => (fix === undefined ? [] : [fix]));
  if (corrected.length === 0) return refusal;
  const areAllCorrected = corrected.length === mistakes.length;
  return refusal.withDetails(areAllCorrected ? { fix: corrected.flat() } : { mistakes });
}

function sentCallOf(request: FastifyRequest): CorrectableCall {
  const { query, body } = request;
  return {
    query: query as Record<string, unknown>,
    body: isJsonObject(body) && !(body instanceof Readable) ? body : undefined,
    isForm: mediaTypeOf(request) === 'multipart/form-data',
  };
}

/** A mistake in a call: the changes that correct it, or a sentence that says what to decide. */
interface CallMistake {
  /** The path of the field as it was sent. */
  param: string;
  fix?: CallCorrection[];
  message?: string;
  suggest?: unknown;
  instead?: unknown;
}

/**
 * The mistakes in a call, in the order in which it is refused for them. A field that cannot be corrected is removed
 * from the checked copy of the call, so that the fields after it are checked as well. Empty if two changes contradict
 * each other.
 */
async function findMistakes(
  first: ApiError,
  sent: CorrectableCall,
  check: (call: CorrectableCall) => Promise<void>,
  pictureSize: () => Promise<PictureSize | null>,
): Promise<CallMistake[]> {
  const mistakes: CallMistake[] = [];
  let call: CorrectableCall | null = sent;
  for (let refusal: ApiError | null = first; refusal !== null; refusal = await findRefusal(check, call)) {
    const hasShares = refusal.corrections.some((correction) => 'share' in correction);
    const size = hasShares ? await pictureSize() : null;
    const corrections = withAdditionsInSamePart(
      correctionsInPixels(refusal.corrections, size, call, sent) ?? [],
      call,
    );
    if (corrections.some(changesMoreThanFields)) return [...mistakes, ...separateMistakes(corrections)];
    if (mistakes.length + corrections.length > MAX_CORRECTIONS) return [];
    if (corrections.length > 0) {
      call = withCorrections(call, corrections, mistakes);
      mistakes.push(...separateMistakes(corrections));
      if (call === null) return [];
      continue;
    }
    const isPartial = mistakes.some(({ fix }) => fix === undefined);
    call = applyCorrection(call, { param: refusal.path, remove: true });
    // If the refused field was not sent, it may be missing only because another field was removed from the copy.
    if (call !== null || !isPartial) addUncorrectedMistake(mistakes, refusal);
    if (call === null) return mistakes;
  }
  return mistakes;
}

/** A copy of the call with some changes; null if one of them contradicts another, or an earlier one. */
function withCorrections(
  sent: CorrectableCall,
  corrections: readonly CallCorrection[],
  earlier: readonly CallMistake[],
): CorrectableCall | null {
  let call: CorrectableCall | null = sent;
  for (const correction of corrections) {
    if (!('replace' in correction) && isNameFromCorrection(correction.param, earlier)) return null;
    call = call && applyCorrection(call, correction);
  }
  return call;
}

/** The mistakes that a list of corrections corrects: one for each renamed field, and one for all other changes. */
function separateMistakes(corrections: readonly CallCorrection[]): CallMistake[] {
  const [first] = corrections;
  if (first === undefined) return [];
  const areRenames = corrections.every((correction) => 'rename' in correction);
  return areRenames
    ? corrections.map((correction) => ({ param: correction.param, fix: [correction] }))
    : [{ param: first.param, fix: [...corrections] }];
}

/**
 * Adds a mistake without a correction. If a change led to the refused field, that change was wrong. It is dropped, with
 * all changes below that field.
 */
function addUncorrectedMistake(mistakes: CallMistake[], { path, message, details = {} }: ApiError): void {
  const { suggest, instead } = details;
  const hasChangeToPath = ({ fix = [] }: CallMistake) =>
    fix.some((correction) => ('rename' in correction ? correction.rename : correction.param) === path);
  const cause = mistakes.find(hasChangeToPath);
  const kept = mistakes.filter((one) => one !== cause && !(cause && one.param.startsWith(path)));
  const mistake = { param: cause?.param ?? path, message, ...withoutAbsentFields({ suggest, instead }) };
  mistakes.splice(0, mistakes.length, ...kept, mistake);
}

/**
 * Whether an earlier change gave a field this name. If a later change renames or removes that field, one of the two
 * changes is wrong.
 */
function isNameFromCorrection(name: string, mistakes: readonly CallMistake[]): boolean {
  return mistakes
    .flatMap(({ fix = [] }) => fix)
    .some((correction) => 'rename' in correction && correction.rename === name && !isMove(correction));
}

/** Whether a correction only moves a field to another level, under its own name. */
function isMove({ param, rename }: { param: string; rename: string }): boolean {
  return rename.split('.').at(-1) === param.split('.').at(-1);
}

/**
 * A copy of corrections that belong together. If the first one changes a field of the query, the others add their
 * fields to the query as well.
 */
function withAdditionsInSamePart(
  corrections: readonly CallCorrection[],
  call: CorrectableCall,
): CallCorrection[] {
  const [first] = corrections;
  if (first === undefined || correctedPartOf(first, call) !== 'query') return [...corrections];
  return corrections.map((correction) =>
    'add' in correction && correction.in === undefined ? { ...correction, in: 'query' } : correction,
  );
}

/** The error if the check refuses a parameter of the call; null if the call passes, or fails for another reason. */
async function findRefusal(
  check: (call: CorrectableCall) => Promise<void>,
  call: CorrectableCall,
): Promise<ApiError | null> {
  try {
    await check(call);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 'invalid_param') return error;
  }
  return null;
}
