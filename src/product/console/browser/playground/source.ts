import { html, useEffect, useRef, useState } from '../html.ts';
import { Button } from '../parts/controls.ts';
import { readPictureSize, useObjectUrl } from '../parts/pictures.ts';
import { bytesText } from '../parts/values.ts';

/** The picture that the user works on. */
export interface SourcePicture {
  blob: Blob;
  name: string;
  /**
   * The width in pixels; 0 if the browser cannot decode the picture, for example a TIFF. The service may still be able
   * to.
   */
  width: number;
  height: number;
}

interface SourcePickerProps {
  source: SourcePicture | undefined;
  onPick: (source: SourcePicture) => void;
}

/** Lets the user drop, paste or choose a picture, or take the example. */
export function SourcePicker({ source, onPick }: SourcePickerProps) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setIsOver] = useState(false);
  const url = useObjectUrl(source?.blob);
  const take = async (file: File | undefined) => {
    if (file !== undefined) onPick(await loadSourcePicture(file, file.name));
  };
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith('image/'));
      void take(file);
    };
    document.addEventListener('paste', paste);
    return () => document.removeEventListener('paste', paste);
  }, [onPick]);
  const over = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(true);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void take(event.dataTransfer?.files[0]);
  };
  return html`<div
    class=${`source${isOver ? ' over' : ''}${source === undefined ? ' none' : ''}`}
    onDragOver=${over}
    onDragLeave=${() => setIsOver(false)}
    onDrop=${drop}
  >
    ${
      source === undefined
        ? html`<p class="empty-title">Drop a picture here</p>
            <p class="quiet">or paste one. It stays in this page, and is sent with each run.</p>`
        : html`<img src=${url} alt="" />
            <div class="source-facts">
              <strong title=${source.name}>${source.name}</strong>
              <span class="quiet">
                ${source.width > 0 ? `${source.width} × ${source.height} px, ` : ''}${bytesText(source.blob.size)}
              </span>
            </div>`
    }
    <div class="actions">
      <${Button} onClick=${() => input.current?.click()}>${source === undefined ? 'Choose a file' : 'Another'}<//>
      ${source === undefined && html`<${Button} kind="link" onClick=${async () => onPick(await openExample())}>Use an example<//>`}
    </div>
    <input
      ref=${input}
      type="file"
      class="unseen"
      tabindex="-1"
      aria-label="Picture"
      accept="image/*"
      onChange=${(event: Event) => take((event.target as HTMLInputElement).files?.[0])}
    />
  </div>`;
}

/** Makes a source picture of a file, and measures its size in the browser. */
export async function loadSourcePicture(blob: Blob, name: string): Promise<SourcePicture> {
  const size = await readPictureSize(blob).catch(() => ({ width: 0, height: 0 }));
  return { blob, name, ...size };
}

async function openExample(): Promise<SourcePicture> {
  const { drawExample } = await import('./example.ts');
  return loadSourcePicture(await drawExample(), 'example.jpg');
}
