import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Size } from '../../../workers/formats/size.ts';
import type { BoundingBox } from '../../../workers/models/protocol.ts';

/** The task of a reader: to read text of one language, or bar and QR codes. */
export type ReadingTask = { kind: 'text'; language: string } | { kind: 'codes' };

/**
 * The text of a picture, and the size of the picture to which the boxes refer. Confidences are 0 to 1. The confidence
 * of the text is the mean over its words, weighted by their characters.
 */
export interface TextReading extends Size {
  /** The lines of the text in reading order, with line breaks between them. */
  text: string;
  confidence: number;
  lines: TextLine[];
}

export interface TextLine extends BoundingBox {
  text: string;
  /** The lowest confidence of its words, because one wrong digit makes a row wrong. */
  confidence: number;
}

/** A picture that was prepared for a reader: upright, on white, and within the largest size. */
export interface PreparedPicture extends Size {
  png: Uint8Array;
}

/** The codes of a picture, from top to bottom. */
export interface CodesReading extends Size {
  codes: (BoundingBox & { format: string; text: string })[];
}

export const DEFAULT_LANGUAGE = 'eng';

/** The packages of the readers, which an installation may omit. */
const READER_PACKAGES = ['tesseract.js', '@tesseract.js-data/eng/package.json', 'zxing-wasm/reader'];

/** Whether the packages of the readers are installed. */
export function areReadersInstalled(): boolean {
  try {
    for (const name of READER_PACKAGES) import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** The folder of the package with a language's data. Languages have ISO 639-2 codes such as `eng`. */
export function languageDataFolderOf(language: string): string {
  return dirname(fileURLToPath(import.meta.resolve(`@tesseract.js-data/${language}/package.json`)));
}

/** The languages whose data is installed. English is always included, even if the readers are not installed. */
export function readInstalledLanguages(): string[] {
  if (!areReadersInstalled()) return [DEFAULT_LANGUAGE];
  return readdirSync(dirname(languageDataFolderOf(DEFAULT_LANGUAGE))).sort();
}
