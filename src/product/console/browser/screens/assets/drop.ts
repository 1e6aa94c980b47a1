import { html, useEffect, useRef, useState } from '../../html.ts';
import { Button } from '../../parts/button.ts';
import { bytesText, Status } from '../../parts/values.ts';
import { forgetEnded, removeUpload, sendFiles, type Upload, uploads } from './uploads.ts';

interface DropProps {
  /** The collection of the files; empty for none. */
  collection: string;
  onDone: () => void;
}

/** Accepts files that are dropped anywhere on the screen, or chosen, and shows their progress. */
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
          // The same file can be chosen again.
          field.value = '';
        }}
      />
    </div>
    ${
      all.length > 0 &&
      html`<section class="uploads" aria-label="Uploads">
        <div class="list-head">
          <span role="status">${running > 0 ? `${running} of ${all.length} on their way` : 'All have ended'}</span>
          <${Button} kind="link" onClick=${forgetEnded}>Clear the list<//>
        </div>
        <ul>
          ${all.map((upload) => html`<${Line} key=${upload.id} upload=${upload} />`)}
        </ul>
      </section>`
    }
  `;
}

const WORDS = {
  waiting: 'waiting',
  sending: 'sending',
  lost: 'connection lost: it is sent again',
  done: 'stored',
  failed: 'failed',
};

const TONES = { waiting: 'quiet', sending: 'busy', lost: 'warn', done: 'good', failed: 'bad' };

function Line({ upload: { id, file, state, sent, assetId, message } }: { upload: Upload }) {
  const name = file.name;
  return html`<li class="upload">
    <span class="upload-name" title=${name}>
      ${state === 'done' && assetId ? html`<a href=${`/console/assets/${assetId}`}>${name}</a>` : name}
    </span>
    <span class="quiet figure">${bytesText(file.size)}</span>
    <progress max="1" value=${sent} aria-label=${`Upload of ${name}`}></progress>
    <${Status} status=${WORDS[state]} tone=${TONES[state]} />
    <${Button} kind="icon" label=${`Remove ${name}`} onClick=${() => removeUpload(id)}>✕<//>
    ${message && html`<p class="upload-message">${message}</p>`}
  </li>`;
}
