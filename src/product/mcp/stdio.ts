import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { LRUCache } from 'lru-cache';
import { createDarkroomError, type DarkroomError } from '../../client/errors.ts';
import { Transport } from '../../client/transport.ts';
import { type ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { MAX_UPLOAD_BYTES } from '../assets/limits.ts';
import { type InputSource, readPicture, uploadImage } from './inputs.ts';
import { createToolServer } from './protocol.ts';

interface StdioStreams {
  stdin: Readable;
  stdout: Writable;
  /**
   * Receives messages about bugs of the tools. They cannot be written to the output, which carries only protocol
   * messages.
   */
  stderr: Writable;
}

/**
 * Serves the tools over standard input and output, for a host that starts this process. The tools call a service over
 * HTTP, and can read files of this computer.
 * @returns a function that ends the connection.
 */
export function serveToolsOverStdio(
  remote: RemoteService,
  streams: StdioStreams = process,
): () => Promise<void> {
  const files = new UploadedFiles();
  const sourceFor = (signal: AbortSignal) => openSource(remote, files, signal);
  const report = (fault: unknown) =>
    streams.stderr.write(`${fault instanceof Error ? fault.stack : String(fault)}\n`);
  const options = { transport: new StdioServerTransport(streams.stdin, streams.stdout), maxSubscriptions: 0 };
  const server = serveStdio(() => createToolServer({ sourceFor, report }), options);
  return () => server.close();
}

/** The address of a service, and the API key for its calls. */
interface RemoteService {
  /** The address, without a slash at the end. */
  url: string;
  apiKey: string;
}

/**
 * Opens the input source of one tool call.
 * @param signal aborts when nobody waits for the tool's result any more.
 */
function openSource({ url, apiKey }: RemoteService, files: UploadedFiles, signal: AbortSignal): InputSource {
  const service = new Transport({
    ...{ baseUrl: url, key: apiKey, maxRetries: 0 },
    fetch: (address, init) =>
      fetch(address, { ...init, signal }).catch((error) => {
        throw unreachableServiceError(url, error);
      }),
  });
  return {
    service,
    uploadFile: (path, argument) => files.upload(path, argument, service),
    readPicture: (path) => readPicture(path, service),
    [Symbol.dispose]: () => undefined,
  };
}

function unreachableServiceError(url: string, cause: unknown): DarkroomError {
  const message = `The service at ${url} does not answer: start it, or correct its address.`;
  return createDarkroomError({
    ...{ status: 0, code: 'provider_unavailable', message, retryable: true, cause },
    details: { reason: 'service_unreachable' },
    retryAfterSeconds: 5,
  });
}

const MAX_CACHED_UPLOADS = 1_000;

/**
 * Uploads files of this computer. An unchanged file is uploaded only once, because the tools of one task often use the
 * same file.
 */
class UploadedFiles {
  /** The ids of uploaded assets, by the path, the size and the modification time of the file. */
  readonly #assetIds = new LRUCache<string, string>({ max: MAX_CACHED_UPLOADS });

  /** Uploads a file. The parameters are those of `InputSource.uploadFile`. */
  async upload(path: string, argument: string, service: Transport): Promise<string> {
    const absolutePath = resolve(path);
    const { size, mtimeMs } = await requireUploadableFile(absolutePath, path, argument);
    const version = `${absolutePath}\n${size}\n${mtimeMs}`;
    const known = this.#assetIds.get(version);
    if (known !== undefined) return known;
    const file = new File([await readFile(absolutePath)], basename(absolutePath));
    const assetId = await uploadImage(file, service);
    this.#assetIds.set(version, assetId);
    return assetId;
  }
}

/**
 * Reads the facts of a file that may be uploaded.
 * @throws ApiError invalid_param when there is no file at the path, or the file is too large.
 */
async function requireUploadableFile(absolutePath: string, path: string, argument: string) {
  const facts = await stat(absolutePath).catch(() => null);
  if (facts === null) throw unreadableFileError(argument, `There is no file ${path} in ${process.cwd()}`);
  if (!facts.isFile()) throw unreadableFileError(argument, `${path} is not a file`);
  if (facts.size > MAX_UPLOAD_BYTES)
    throw unreadableFileError(argument, `${path} is over ${MAX_UPLOAD_BYTES} bytes`);
  return facts;
}

function unreadableFileError(argument: string, problem: string): ApiError {
  return invalidParamError(argument, `${problem}: send the path of an image, an asset id or an http(s) URL.`);
}
