import type { DarkroomError } from '../../../../../client/errors.ts';
import { api } from '../../session.ts';
import { Shared } from '../../shared.ts';

/** A file on its way to the service. */
export interface Upload {
  id: number;
  file: File;
  collection: string;
  state: 'waiting' | 'sending' | 'lost' | 'done' | 'failed';
  /** The part that was sent, 0 to 1. */
  sent: number;
  /** The id of the asset that it becomes, once known. */
  assetId?: string;
  message?: string;
}

/** Files that are sent at once. */
const MAX_SENDING = 2;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 8_000;
/** How long a connection may be lost. An upload address is valid for 15 minutes, so a longer loss ends the upload. */
const MAX_LOST_MS = 14 * 60_000;

/** The uploads of this page. They continue while the reader looks at other screens. */
export const uploads = new Shared<readonly Upload[]>([]);
const ends = new Map<number, AbortController>();
let lastId = 0;

/**
 * Sends files to a collection. An empty name means none.
 * @param onDone called for every asset that is stored.
 */
export function sendFiles(files: readonly File[], collection: string, onDone: () => void): void {
  const added = files.map((file): Upload => {
    lastId += 1;
    ends.set(lastId, new AbortController());
    return { id: lastId, file, collection, state: 'waiting', sent: 0 };
  });
  uploads.set([...uploads.value, ...added]);
  begin(onDone);
}

/** Stops an upload, or removes one that has ended from the list. */
export function removeUpload(id: number): void {
  ends.get(id)?.abort();
  uploads.set(uploads.value.filter((one) => one.id !== id));
}

export function forgetEnded(): void {
  uploads.set(uploads.value.filter(({ state }) => state !== 'done' && state !== 'failed'));
}

/** Starts as many waiting uploads as may run at the same time. */
function begin(onDone: () => void): void {
  const isSending = ({ state }: Upload) => state === 'sending' || state === 'lost';
  const free = MAX_SENDING - uploads.value.filter(isSending).length;
  for (const upload of uploads.value.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free))) {
    change(upload.id, { state: 'sending' });
    void send(upload)
      .then(
        () => {
          change(upload.id, { state: 'done', sent: 1 });
          onDone();
        },
        (error) => change(upload.id, { state: 'failed', message: (error as Error).message }),
      )
      .finally(() => {
        ends.delete(upload.id);
        begin(onDone);
      });
  }
}

async function send({ id, file, collection }: Upload): Promise<void> {
  const signal = ends.get(id)?.signal ?? AbortSignal.abort();
  const name = file.name;
  const body = { contentType: file.type as 'image/png', name, ...(collection !== '' && { collection }) };
  const { asset, upload } = await api.request('POST', '/assets', { body, signal, maxRetries: 5 });
  change(id, { assetId: asset.id });
  const { pathname, search } = new URL(upload.url);
  try {
    await putPatiently(id, pathname + search, upload.headers, file, signal);
  } catch (error) {
    // A reserved asset without bytes would count against the plan.
    await api.assets.delete(asset.id).catch(() => undefined);
    throw error;
  }
}

/** Sends a file, and sends it again after a lost connection, as long as its address is valid. */
async function putPatiently(
  id: number,
  address: string,
  headers: Record<string, string>,
  file: File,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = Date.now();
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, 2 * pauseMs)) {
    signal.throwIfAborted();
    const outcome = await put(address, headers, file, signal, (sent) =>
      change(id, { state: 'sending', sent }),
    );
    if (outcome === 'stored') return;
    if (Date.now() - startedMs > MAX_LOST_MS)
      throw new Error('The connection was away for too long: send it again.');
    change(id, { state: 'lost', sent: 0 });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * Makes one attempt to send a file. XMLHttpRequest reports how much was sent, which `fetch` does not.
 * @returns `lost` if it may succeed when repeated.
 * @throws Error with the sentence of an API error.
 */
function put(
  address: string,
  headers: Record<string, string>,
  file: File,
  signal: AbortSignal,
  onSent: (share: number) => void,
): Promise<'stored' | 'lost'> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onSent(total === 0 ? 0 : loaded / total);
    request.onerror = () => resolve('lost');
    request.onabort = () => reject(signal.reason);
    request.onload = () => {
      if (request.status < 300) return resolve('stored');
      const { error } = bodyOf(request.responseText);
      // For the service, an interrupted attempt may still be running, or may have been complete.
      if (error?.details?.status === 'DONE') return resolve('stored');
      const isToRepeat = error?.retryable === true || error?.details?.status === 'PENDING';
      if (isToRepeat || error?.code === 'request_in_progress') return resolve('lost');
      reject(new Error(error?.message ?? `The service answered ${request.status}.`));
    };
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}

interface Refused {
  error?: Partial<Pick<DarkroomError, 'code' | 'message' | 'retryable'>> & { details?: { status?: string } };
}

function bodyOf(text: string): Refused {
  try {
    return JSON.parse(text) as Refused;
  } catch {
    return {};
  }
}

function change(id: number, part: Partial<Upload>): void {
  uploads.set(uploads.value.map((one) => (one.id === id ? { ...one, ...part } : one)));
}
