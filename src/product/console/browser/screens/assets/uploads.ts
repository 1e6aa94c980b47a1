import type { DarkroomError } from '../../../../../client/errors.ts';
import { api } from '../../api.ts';
import { html, SharedState, useEffect, useRef, useState } from '../../html.ts';
import { Button } from '../../parts/controls.ts';
import { bytesText, Status } from '../../parts/values.ts';
import { shownAccountId } from '../../session.ts';

export interface Upload {
  id: number;
  file: File;
  collection: string;
  state: 'waiting' | 'sending' | 'lost' | 'done' | 'failed';
  /** The fraction of the file that was sent, from 0 to 1. */
  sent: number;
  /** The id of the asset that the file becomes. Absent until the asset is reserved. */
  assetId?: string;
  message?: string;
}

/** The number of files that are sent at the same time. */
const MAX_CONCURRENT_UPLOADS = 2;
const FIRST_RETRY_PAUSE_MS = 1_000;
const MAX_RETRY_PAUSE_MS = 8_000;
/**
 * How long an upload is retried after a lost connection. It is shorter than the 15 minutes for which an upload address
 * is valid.
 */
const MAX_RECONNECT_MS = 14 * 60_000;

/** The uploads of this page. They continue while the user visits other screens. */
export const uploads = new SharedState<readonly Upload[]>([]);
const abortControllers = new Map<number, AbortController>();
let lastUploadId = 0;

/**
 * Sends files to a collection. An empty name means none.
 * @param onDone called for every asset that is stored.
 */
function sendFiles(files: readonly File[], collection: string, onDone: () => void): void {
  const added = files.map((file): Upload => {
    lastUploadId += 1;
    abortControllers.set(lastUploadId, new AbortController());
    return { id: lastUploadId, file, collection, state: 'waiting', sent: 0 };
  });
  uploads.set([...uploads.value, ...added]);
  startWaitingUploads(onDone);
}

/** Stops an upload, or removes an ended one from the list. */
function removeUpload(id: number): void {
  abortControllers.get(id)?.abort();
  uploads.set(uploads.value.filter((one) => one.id !== id));
}

// Uploads stop when another account signs in, so that their assets do not end up in that account.
shownAccountId.listen(() => {
  for (const abortController of abortControllers.values()) abortController.abort();
  uploads.set([]);
});

function removeEndedUploads(): void {
  uploads.set(uploads.value.filter(({ state }) => state !== 'done' && state !== 'failed'));
}

/** Starts waiting uploads until MAX_CONCURRENT_UPLOADS of them are running. */
function startWaitingUploads(onDone: () => void): void {
  const isSending = ({ state }: Upload) => state === 'sending' || state === 'lost';
  const free = MAX_CONCURRENT_UPLOADS - uploads.value.filter(isSending).length;
  for (const upload of uploads.value.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free))) {
    changeUpload(upload.id, { state: 'sending' });
    void uploadFile(upload)
      .then(
        () => {
          changeUpload(upload.id, { state: 'done', sent: 1 });
          onDone();
        },
        (error) => changeUpload(upload.id, { state: 'failed', message: (error as Error).message }),
      )
      .finally(() => {
        abortControllers.delete(upload.id);
        startWaitingUploads(onDone);
      });
  }
}

async function uploadFile({ id, file, collection }: Upload): Promise<void> {
  const signal = abortControllers.get(id)?.signal ?? AbortSignal.abort();
  const name = file.name;
  const body = { contentType: file.type as 'image/png', name, ...(collection !== '' && { collection }) };
  const { asset, upload } = await api.request('POST', '/assets', { body, signal, maxRetries: 5 });
  changeUpload(id, { assetId: asset.id });
  const { pathname, search } = new URL(upload.url);
  try {
    await putWithRetries(id, pathname + search, upload.headers, file, signal);
  } catch (error) {
    // The reserved asset is deleted after a failure, because it would count against the plan although it has no bytes.
    await api.assets.delete(asset.id).catch(() => undefined);
    throw error;
  }
}

/** Sends a file to its upload address. After a lost connection, the file is sent again while the address is valid. */
async function putWithRetries(
  id: number,
  address: string,
  headers: Record<string, string>,
  file: File,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = Date.now();
  for (let pauseMs = FIRST_RETRY_PAUSE_MS; ; pauseMs = Math.min(MAX_RETRY_PAUSE_MS, 2 * pauseMs)) {
    signal.throwIfAborted();
    const outcome = await sendAttempt(address, headers, file, signal, (sent) =>
      changeUpload(id, { state: 'sending', sent }),
    );
    if (outcome === 'stored') return;
    if (Date.now() - startedMs > MAX_RECONNECT_MS)
      throw new Error('The connection was away for too long: send it again.');
    changeUpload(id, { state: 'lost', sent: 0 });
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/**
 * Makes one attempt to send a file. XMLHttpRequest reports how much was sent, which `fetch` does not.
 * @returns `lost` if it may succeed when repeated.
 * @throws Error with the sentence of an API error.
 */
function sendAttempt(
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
      const { error } = parseUploadRefusal(request.responseText);
      // After a lost connection, an earlier attempt may have succeeded, or the service may still be reading it.
      if (error?.details?.status === 'DONE') return resolve('stored');
      const isToRepeat = error?.retryable === true || error?.details?.status === 'PENDING';
      if (isToRepeat || error?.code === 'request_in_progress') return resolve('lost');
      reject(new Error(error?.message ?? `The service answered ${request.status}.`));
    };
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}

interface UploadRefusal {
  error?: Partial<Pick<DarkroomError, 'code' | 'message' | 'retryable'>> & { details?: { status?: string } };
}

function parseUploadRefusal(text: string): UploadRefusal {
  try {
    return JSON.parse(text) as UploadRefusal;
  } catch {
    return {};
  }
}

function changeUpload(id: number, part: Partial<Upload>): void {
  uploads.set(uploads.value.map((one) => (one.id === id ? { ...one, ...part } : one)));
}

interface DropProps {
  /** The collection of the files; empty for none. */
  collection: string;
  onDone: () => void;
}

/** Takes files that are dropped anywhere on the screen or chosen in a dialog, uploads them, and shows the progress. */
export function DropZone({ collection, onDone }: DropProps) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const all = uploads.use();
  const latest = useRef({ collection, onDone });
  latest.current = { collection, onDone };
  const take = (files: Iterable<File>) => {
    const { collection, onDone } = latest.current;
    sendFiles([...files], collection, onDone);
  };
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setIsOver(true);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setIsOver(false);
    const drop = (event: DragEvent) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      setIsOver(false);
      take(event.dataTransfer.files);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('dragleave', leave);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('dragleave', leave);
      document.removeEventListener('drop', drop);
    };
  }, []);
  const running = all.filter(({ state }) => state !== 'done' && state !== 'failed').length;
  return html`
    <div class=${isOver ? 'drop over' : 'drop'}>
      <p>
        Drop images here${collection && html` for <strong>${collection}</strong>`}, or${' '}
        <${Button} kind="link" onClick=${() => input.current?.click()}>choose files<//>
      </p>
      <input
        ref=${input}
        type="file"
        accept="image/*"
        multiple
        aria-label="Images to upload"
        class="unseen"
        tabindex="-1"
        onChange=${(event: Event) => {
          const field = event.target as HTMLInputElement;
          take(field.files ?? []);
          // The field is emptied, because choosing the same file again would otherwise raise no event.
          field.value = '';
        }}
      />
    </div>
    ${
      all.length > 0 &&
      html`<section class="uploads" aria-label="Uploads">
        <div class="list-head">
          <span role="status">${running > 0 ? `${running} of ${all.length} on their way` : 'All have ended'}</span>
          <${Button} kind="link" onClick=${removeEndedUploads}>Clear the list<//>
        </div>
        <ul>
          ${all.map((upload) => html`<${UploadLine} key=${upload.id} upload=${upload} />`)}
        </ul>
      </section>`
    }
  `;
}

const UPLOAD_STATES = {
  waiting: { status: 'waiting', tone: 'quiet' },
  sending: { status: 'sending', tone: 'busy' },
  lost: { status: 'connection lost: it is sent again', tone: 'warn' },
  done: { status: 'stored', tone: 'good' },
  failed: { status: 'failed', tone: 'bad' },
};

function UploadLine({ upload: { id, file, state, sent, assetId, message } }: { upload: Upload }) {
  const name = file.name;
  return html`<li class="upload">
    <span class="upload-name" title=${name}>
      ${state === 'done' && assetId ? html`<a href=${`/console/assets/${assetId}`}>${name}</a>` : name}
    </span>
    <span class="quiet figure">${bytesText(file.size)}</span>
    <progress max="1" value=${sent} aria-label=${`Upload of ${name}`}></progress>
    <${Status} ...${UPLOAD_STATES[state]} />
    <${Button} kind="icon" label=${`Remove ${name}`} onClick=${() => removeUpload(id)}>✕<//>
    ${message && html`<p class="upload-message">${message}</p>`}
  </li>`;
}
