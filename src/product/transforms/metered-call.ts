import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PassTimings, PictureFile, TransformTaskResult } from '../../../workers/protocol.ts';
import type { ImageHeader } from '../../imaging/images/header/facts.ts';
import type { RunningCall, StoredFile } from '../../imaging/images/image-call.ts';
import type { ImageWorkers } from '../../imaging/images/image-workers.ts';
import type { IncomingCall, WorkClass } from '../../imaging/images/slots.ts';
import { checkIsImage } from '../../imaging/images/source.ts';
import { announcedBytes } from '../../platform/http/bodies/streamed-body.ts';
import { clientGoneSignal } from '../../platform/http/connection/client.ts';
import { acceptHeaderWarnings } from '../../platform/http/hooks/negotiation.ts';
import { addWarnings } from '../../platform/http/hooks/warnings.ts';
import type { OpMeter } from '../../platform/metrics/work.ts';
import type { OutboundRequests } from '../../platform/outbound/outbound.ts';
import { withoutAbsentFields } from '../../platform/values/present.ts';
import type { Caller } from '../accounts/authentication.ts';
import type { CallGate } from '../accounts/gate/gate.ts';
import type { AssetReader } from '../assets/content/reader.ts';
import type { AdmittedRun, RunAllowance } from '../billing/allowance.ts';
import { checkDeclaredType, declaredTypeOfResponse } from './declared-type.ts';
import { type ImageSource, MAX_IMAGE_BYTES } from './input.ts';

export interface MeteredCallOptions {
  gate: CallGate;
  imageWorkers: ImageWorkers;
  outbound: OutboundRequests;
  allowance: RunAllowance;
  assets: AssetReader;
  meters: { ops: OpMeter };
  /** The timeout of a call, in milliseconds. It runs from the request to the response. */
  timeoutMs: number;
  now: () => Date;
}

/**
 * What a pool needs to know about a call: the account, the deadline, and a signal that aborts when the client
 * disconnects.
 */
export interface PoolCallOptions {
  accountId: string;
  signal: AbortSignal;
  deadlineMs: number;
  /** Whether somebody waits for the result (`call`) or nobody does (`job`). Default: `call`. */
  work?: WorkClass;
  /** Aborts when the job is being cancelled. It ends waits, but not what a worker has begun. */
  waitSignal?: AbortSignal;
  /** The place of the call in the queue of the image pool. A call takes it before its body is completely read. */
  incoming?: IncomingCall;
}

/** A synchronous run that succeeded. */
interface TimedRun {
  /** How long the call waited for a thread, in milliseconds. */
  queueMs: number;
  timings: Partial<PassTimings>;
  /** The size of what was processed in bytes. Default: that of the loaded images. */
  bytesIn?: number;
  /** The size of the result in bytes; absent if no bytes are sent. */
  bytesOut?: number;
}

/** The calls in progress. The response to a failed call contains the times that were measured until then. */
const runningCalls = new WeakMap<FastifyRequest, SyncCall>();

/** Adds the header Server-Timing to failed synchronous calls, with the times that are known. */
export function addTimingsToFailedCalls(app: FastifyInstance): void {
  app.addHook('onError', (request, reply, _error, done) => {
    const times = runningCalls.get(request)?.times();
    if (times !== undefined) reply.header('server-timing', serverTiming(times));
    done();
  });
}

/**
 * A synchronous call between its admission and its response: it loads the images, waits for the work on them, and
 * records the run. Its time counts from the first byte of the request.
 */
export class SyncCall {
  readonly caller: Caller;
  /** What each pool needs to know about the call. */
  terms: PoolCallOptions;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #options: MeteredCallOptions;
  readonly #admitMs: number;
  /** The size of the images that were loaded. It is counted before a worker takes their bytes. */
  #bytesIn = 0;
  /** The last work: how long the call took before this work began, and how long the work waited in the queue. */
  #lastWork: { fetchMs: number; waitedMs(): number } | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, options: MeteredCallOptions) {
    this.caller = options.gate.requireCaller(request);
    this.#request = request;
    this.#reply = reply;
    this.#options = options;
    this.#admitMs = reply.elapsedTime;
    const deadlineMs = Date.now() - Math.round(this.#admitMs) + options.timeoutMs;
    this.terms = { accountId: this.caller.accountId, signal: clientGoneSignal(reply), deadlineMs };
    runningCalls.set(request, this);
  }

  /**
   * Gives the call a place in the queue of the image pool while its body is being read.
   * @throws ApiError provider_unavailable (capacity) when the queue is full.
   */
  reserveQueuePlace(): void {
    const { imageWorkers } = this.#options;
    const incoming = imageWorkers.admitIncoming(this.caller.accountId, announcedBytes(this.#request) ?? 0);
    this.#reply.raw.once('close', incoming.end);
    this.terms = { ...this.terms, incoming };
  }

  /** Loads an image of the call. The parameters and the errors are those of `loadCallImage`. */
  async load(source: ImageSource, param?: string): Promise<LoadedImage> {
    const image = await loadCallImage(source, this.#options, this.terms, param);
    this.#bytesIn += image.bytes.length;
    return image;
  }

  /**
   * Waits for the result of work. The time before the work counts as the time to read the body or download the image.
   * The account's slot is held until the work has really ended, which may be after the response.
   */
  readonly finish = <T>(work: RunningCall<T>): Promise<T> => {
    this.#lastWork = { fetchMs: this.#msSinceAdmission(), waitedMs: work.waitedMs };
    this.#options.gate.keepSlotUntil(this.#request, work.ended);
    return work.result;
  };

  /** Runs work that counts as one run of an op, and records it. The errors are those of `runCountedWork`. */
  async run<T extends TimedRun>(op: string, work: () => Promise<T>): Promise<T> {
    const done = await runCountedWork(this.#options.allowance, this.caller, op, work);
    this.recordRun(op, done);
    return done;
  }

  /** Sets the header Server-Timing, and counts the run of the op. */
  recordRun(op: string, { queueMs, timings, bytesIn = this.#bytesIn, bytesOut = 0 }: TimedRun): void {
    const times = { ...this.times(), queueMs, ...timings };
    this.#reply.header('server-timing', serverTiming({ ...NO_WORK_TIMINGS, ...times }));
    this.#reply.header('x-service-duration-ms', String(workerMs(times)));
    this.#options.meters.ops.recordRun({ op, work: 'call', ...times, bytesIn, bytesOut });
  }

  /** The times that are known so far. */
  times(): CallTimes {
    return {
      admitMs: this.#admitMs,
      fetchMs: this.#lastWork?.fetchMs ?? this.#msSinceAdmission(),
      queueMs: this.#lastWork?.waitedMs() ?? 0,
      totalMs: this.#reply.elapsedTime,
    };
  }

  #msSinceAdmission(): number {
    return this.#reply.elapsedTime - this.#admitMs;
  }
}

const NO_WORK_TIMINGS: PassTimings = { decodeMs: 0, processMs: 0, encodeMs: 0 };

/** The times of a call in milliseconds. If the work failed, its own times are absent. */
interface CallTimes extends Partial<PassTimings> {
  admitMs: number;
  fetchMs: number;
  queueMs: number;
  totalMs: number;
}

/** The value of `Server-Timing`: `admit;dur=0.4, fetch;dur=3.1, …`. */
function serverTiming(times: CallTimes): string {
  const { totalMs, admitMs, fetchMs, queueMs, decodeMs, processMs, encodeMs } = times;
  const before = { admit: admitMs, fetch: fetchMs, queue: queueMs };
  const work = withoutAbsentFields({ decode: decodeMs, process: processMs, encode: encodeMs });
  return Object.entries({ ...before, ...work, total: totalMs })
    .map(([name, ms]) => `${name};dur=${ms.toFixed(1)}`)
    .join(', ');
}

/** How long a worker took in all, in whole milliseconds. */
export function workerMs({ decodeMs = 0, processMs = 0, encodeMs = 0 }: Partial<PassTimings>): number {
  return Math.round(decodeMs + processMs + encodeMs);
}

/** The format in a media type, as the header `X-Service-Format` contains it: `webp` for `image/webp`. */
export function formatOfContentType({ contentType }: { contentType: string }): string {
  return contentType.slice('image/'.length);
}

/**
 * What a pass has measured, as headers: the result of a search for a target, the placeholder hashes of the picture, and
 * its bit depth. Headers without a value are left out.
 */
export function measurementHeadersOf({
  achieved,
  hashes,
  bitDepth,
}: TransformTaskResult): Record<string, string> {
  const measured = {
    'X-Service-Quality': achieved?.quality,
    'X-Service-Lossless': achieved?.lossless,
    'X-Service-Ssim': achieved?.ssim,
    'X-Service-Ssimulacra2': achieved?.ssimulacra2,
    'X-Service-Trials': achieved?.trials,
    'X-Service-Thumbhash': hashes?.thumbhash,
    'X-Service-Blurhash': hashes?.blurhash,
    'X-Service-Bit-Depth': bitDepth,
  };
  const present = Object.entries(measured).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present.map(([name, value]) => [name, String(value)]));
}

/** Sends a picture and its size. A warning is added if the client does not accept its media type. */
export function sendPicture(reply: FastifyReply, { data, contentType, width, height }: PictureFile) {
  addWarnings(reply, acceptHeaderWarnings(reply.request, contentType));
  reply.header('x-service-width', String(width)).header('x-service-height', String(height));
  return reply.type(contentType).send(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
}

/**
 * The image of a call: an asset that is read later, or bytes with their header. The header is null if the bytes are not
 * an image.
 */
export interface LoadedImage {
  bytes: Uint8Array<ArrayBuffer> | StoredFile;
  header: ImageHeader | null;
}

/**
 * Loads the image of a call.
 * @param param the field or the part to name in errors. Needed only for a second picture.
 * @throws ApiError if the image cannot be downloaded, or is not an asset of the account; unsupported_format if the
 * bytes do not match their declared type.
 */
export async function loadCallImage(
  source: ImageSource,
  { outbound, assets }: Pick<MeteredCallOptions, 'outbound' | 'assets'>,
  { accountId, signal, deadlineMs }: PoolCallOptions,
  param?: string,
): Promise<LoadedImage> {
  switch (source.kind) {
    case 'bytes':
      return checkDeclaredType(source, param);
    case 'asset':
      return { bytes: await assets.find(accountId, source.assetId, param), header: null };
    case 'url': {
      const timeoutMs = Math.max(1, deadlineMs - Date.now());
      const options = { limitBytes: MAX_IMAGE_BYTES, timeoutMs, signal, param };
      const { bytes, contentType, extension } = await outbound.fetchImage(source.url, options);
      checkIsImage(bytes, param ?? 'url');
      const image = { bytes, declaredType: declaredTypeOfResponse(contentType, extension) };
      return checkDeclaredType(image, param ?? 'url');
    }
  }
}

/**
 * Runs work that counts as one run against the allowance. The run is admitted before it starts, and counted only if it
 * succeeds.
 * @throws ApiError 402 insufficient_credit, or the error of the work.
 */
export async function runCountedWork<T>(
  allowance: RunAllowance,
  caller: Caller,
  op: string,
  work: () => Promise<T>,
): Promise<T> {
  return runCountedBatch(allowance, caller, [op], async () => {
    const result = await work();
    return { result, succeeded: [true] };
  });
}

/**
 * Runs work that counts as several runs. As in `runCountedWork`, the runs are admitted before the work starts, and only
 * those that succeed are counted.
 * @param ops the op of each run.
 * @param work returns which of the runs succeeded.
 */
export async function runCountedBatch<T>(
  allowance: RunAllowance,
  caller: Caller,
  ops: readonly string[],
  work: () => Promise<{ result: T; succeeded: readonly boolean[] }>,
): Promise<T> {
  const runs: AdmittedRun[] = [];
  try {
    for (const _ of ops) runs.push(await allowance.begin(caller));
    const { result, succeeded } = await work();
    for (const [index, op] of ops.entries()) {
      const run = runs[index];
      if (succeeded[index]) await run?.succeed({ op, apiKeyId: caller.apiKeyId });
      else await run?.release();
    }
    return result;
  } catch (error) {
    for (const run of runs) await run.release();
    throw error;
  }
}
