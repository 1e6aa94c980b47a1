import { createHash } from 'node:crypto';
import type { ImageFacts, Pass, RawPixels } from '../../../workers/protocol.ts';
import type { Header } from './header/header.ts';
import { readable } from './readable.ts';
import { headerOfFacts, type StoredFile } from './stored-file.ts';

/** The input of a thread: the file, or the pixels of a drawing. */
export interface Opened {
  file: { input: Uint8Array<ArrayBuffer>; raw?: RawPixels };
  /** The header of `file`; for an SVG that of its pixels. */
  header: Header;
}

export interface Source {
  /** The header that the work is estimated from; of a stored file, from its facts. */
  header: Header;
  /** Returns the input; reads it first if it is still in a store. */
  open(): Opened | Promise<Opened>;
  /** Begins to read the file before the call has its slot. */
  prepare?: () => void;
  /** Memory of the call while it waits, in bytes. */
  heldBytes: number;
  /** Wait for the rasterizer, in milliseconds. */
  queueMs: number;
  /** The file of a drawing, whose pixels `open` answers, and its natural size. */
  drawing?: { bytes: Uint8Array; width: number; height: number };
}

/**
 * The input of bytes that were sent.
 * @param known the header, where it was already read from them.
 * @param passes none for a description and a comparison.
 * @param param the field of the call that brought a second picture.
 * @throws unsupported_format as `readable` does.
 */
export function openedFrom(
  bytes: Uint8Array,
  known: Header | null | undefined,
  passes: readonly Pass[],
  param?: string,
): Opened {
  const [first = null, ...others] = passes;
  const header = readable(bytes, known, first, param);
  for (const pass of others) readable(bytes, header, pass, param);
  return { file: { input: ownedBytes(bytes) }, header };
}

/**
 * A file in a store: it is read when the call has its slot, or is next to have one.
 * @param param as in `openedFrom`.
 */
export function storedSource(file: StoredFile, passes: readonly Pass[], param?: string): Source {
  let reading: Promise<Opened> | undefined;
  const open = () => {
    reading ??= file.read().then((bytes) => openedFrom(bytes, null, passes, param));
    return reading;
  };
  // If the reading fails, the call is refused later, when it has its slot.
  const prepare = () => void open().catch(() => undefined);
  return { header: headerOfFacts(file.facts), open, prepare, heldBytes: 0, queueMs: 0 };
}

/**
 * Bytes that can be handed to a thread without a copy: they own the whole of their memory. Others are copied once.
 * Bytes that were handed over must not be touched again.
 */
export function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsItsBuffer(bytes) ? bytes : new Uint8Array(bytes);
}

function ownsItsBuffer(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
}

/** Facts of the file of a drawing that its pixels do not hold. */
export function drawingFacts({ bytes, width, height }: NonNullable<Source['drawing']>): Partial<ImageFacts> {
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  return { format: 'svg', mimeType: 'image/svg+xml', width, height, bytes: bytes.length, sha1 };
}
