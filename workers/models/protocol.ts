/**
 * The messages between an API process and the threads of models that run on this machine: plain data,
 * structured-cloned.
 * Both sides import this file; neither imports the other.
 */
import type { Size } from '../formats/size.ts';

/**
 * A task for the sandbox models; its answer is the bytes of a PNG. Pictures are JPEG, PNG or WebP. The seed decides the
 * colours.
 */
export type SandboxTask =
  | { kind: 'draw'; text: string; seed: number; width: number; height: number }
  | { kind: 'recolour'; picture: Uint8Array; seed: number }
  | { kind: 'enlarge'; picture: Uint8Array; scale: number }
  | { kind: 'cut-out'; picture: Uint8Array }
  | { kind: 'expand'; picture: Uint8Array; top: number; right: number; bottom: number; left: number };

/** A picture whose bar and QR codes are read. */
export interface CodesTask {
  picture: Uint8Array;
}

/** A box around an object in a picture, in pixels of the picture. */
export interface BoundingBox {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface ReadCodesResult {
  width: number;
  height: number;
  codes: (BoundingBox & { format: string; text: string })[];
}

/** A task to find the areas of a picture whose text was not read. `lines` are the boxes of the lines that were read. */
export interface UnreadTextTask {
  picture: Uint8Array;
  size: Size;
  lines: BoundingBox[];
}

/**
 * A task for the thread that checks answer schemas. `start` is answered once the thread runs. Schemas and values are
 * JSON text.
 */
export type SchemaTask = { kind: 'start' } | { kind: 'check'; schema: string; value?: string };

export interface SchemaCheckResult {
  /** The reason why the schema cannot be used, as the end of the sentence "The schema …". */
  problem?: string;
  /** A description of how the value breaks the schema, such as "/tags must be array". */
  violation?: string;
}
