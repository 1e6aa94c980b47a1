import type { FastifyReply } from 'fastify';
import type { Caller } from '../accounts/authentication.ts';
import type { Gate } from '../accounts/gate.ts';
import type { Allowance, Run } from '../billing/allowance.ts';
import { clientGoneSignal } from '../http/client-gone.ts';
import { ApiError } from '../http/errors.ts';
import type { Outbound } from '../outbound/outbound.ts';
import { readHeader } from '../pixels/header/header.ts';
import type { Pixels } from '../pixels/pixels.ts';
import type { Input } from './input.ts';
import { IMAGE_LIMIT_BYTES } from './limits.ts';

/** The image of a call, wherever it came from. */
export interface SourceImage {
  bytes: Uint8Array<ArrayBuffer>;
  /** What it was said to be; null when nothing was said. */
  declaredType: string | null;
}

/** Reads an asset of the account: bytes and type, by the errors of the interface. */
export type ReadAsset = (accountId: string, assetId: string) => Promise<SourceImage>;

export interface LaneOptions {
  gate: Gate;
  pixels: Pixels;
  outbound: Outbound;
  allowance: Allowance;
  readAsset: ReadAsset;
  now: () => Date;
}

/** Ends when the client goes away before its answer, or when the deadline passes. */
export interface CallLimits {
  signal: AbortSignal;
  deadlineMs: number;
}

/** Limits of the call that this reply answers, from its first byte on. */
export function limitsOf(reply: FastifyReply, durationMs: number): CallLimits {
  return {
    signal: clientGoneSignal(reply),
    deadlineMs: Date.now() - Math.round(reply.elapsedTime) + durationMs,
  };
}

/**
 * Brings the image that a call names.
 * @throws ApiError of the fetcher, of the asset, or unsupported_format for an empty body.
 */
export async function bring(
  input: Input,
  caller: Caller,
  { outbound, readAsset }: Pick<LaneOptions, 'outbound' | 'readAsset'>,
  { signal, deadlineMs }: CallLimits,
): Promise<SourceImage> {
  switch (input.kind) {
    case 'bytes':
      if (input.bytes.length === 0)
        throw new ApiError('unsupported_format', 'The image is empty: send its bytes.', { param: 'file' });
      return input;
    case 'asset':
      return readAsset(caller.accountId, input.assetId);
    case 'url': {
      const timeoutMs = Math.max(1, deadlineMs - Date.now());
      const { bytes, contentType, extension } = await outbound.fetchImage(input.url, {
        limitBytes: IMAGE_LIMIT_BYTES,
        timeoutMs,
        signal,
      });
      return asDeclared({ bytes, declaredType: declaredTypeOf(contentType, extension) });
    }
  }
}

/**
 * The image, when its bytes are what they were said to be.
 * @throws ApiError unsupported_format for an empty file, and for one of another format than its type names.
 */
function asDeclared(image: SourceImage): SourceImage {
  const { bytes, declaredType } = image;
  if (bytes.length === 0) {
    throw new ApiError('unsupported_format', 'The image is empty: send its bytes.', { param: 'file' });
  }
  const found = readHeader(bytes)?.mimeType;
  if (declaredType === null || found === undefined || sameType(declaredType, found)) return image;
  throw new ApiError(
    'unsupported_format',
    `The bytes are ${found}, but were sent as ${declaredType}: send the type that they are.`,
    {
      param: 'file',
      details: { received: declaredType, found },
    },
  );
}

/** Media types as people write them: image/jpg is image/jpeg, image/svg is image/svg+xml. */
function sameType(declared: string, found: string): boolean {
  const plain = (type: string) =>
    type
      .replace('image/x-', 'image/')
      .replace('image/jpg', 'image/jpeg')
      .replace('pjpeg', 'jpeg')
      .replace('apng', 'png')
      .replace('+xml', '');
  return plain(declared) === plain(found);
}

/** The served type when it names an image, else the one that the extension names. */
function declaredTypeOf(contentType: string | null, extension: string | null): string | null {
  if (contentType?.startsWith('image/')) return contentType;
  return extension === null ? null : (TYPE_OF_EXTENSION[extension] ?? null);
}

const TYPE_OF_EXTENSION: Record<string, string> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  jfif: 'image/jpeg',
  png: 'image/png',
  apng: 'image/png',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  svg: 'image/svg+xml',
};

/**
 * Runs work that counts against the allowance: let in before it starts, counted when it succeeded, given back when not.
 * @throws ApiError 402 insufficient_credit, or what the work throws.
 */
export async function counted<T>(
  allowance: Allowance,
  caller: Caller,
  op: string,
  work: () => Promise<T>,
): Promise<T> {
  const run: Run = await allowance.begin(caller);
  try {
    const result = await work();
    await run.succeed({ op, apiKeyId: caller.apiKeyId });
    return result;
  } catch (error) {
    await run.release();
    throw error;
  }
}

/** The name of a pass-relative parameter in the words of the op that was called. */
export function namedAs(declared: Record<string, unknown>): (passParam: string) => string {
  return (passParam) => {
    const name = passParam.split('.').at(-1) ?? passParam;
    const renamed = RENAMED[name] ?? name;
    return renamed in declared ? renamed : 'op';
  };
}

/** Registry arguments that an op calls otherwise. */
const RENAMED: Record<string, string> = { left: 'x', top: 'y', extendWith: 'mode' };
