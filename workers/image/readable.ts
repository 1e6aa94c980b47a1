import type { RawPixels, Readings } from '../protocol.ts';
import { withAvifColours } from './colour/avif-colours.ts';
import { type ColouredFile, withPngProfile } from './colour/png-colours.ts';
import { withoutBulkyTexts } from './metadata/png-guard.ts';
import { withStillBrand } from './still-brand.ts';

/** A file that libvips reads correctly. */
export interface ReadableFile extends ColouredFile {
  /** The file from which its facts are read: before its colours were named in another way. */
  original: Uint8Array<ArrayBuffer>;
  /** Its former format, where it was converted to another one. */
  formerFormat?: 'avif';
}

/** The first byte of a PNG, and of a file of boxes, whose length it begins. */
const PNG = 0x89;
const BOX = 0x00;

/**
 * Makes a file readable: without what is costly to read, and with colours and pixels as libvips understands them. Most
 * files are returned as they are.
 * @param raw describes pixels, which are no file and are returned as they are.
 * @param pictures number of pictures in an AVIF.
 */
export async function readableFile(
  input: Uint8Array<ArrayBuffer>,
  { raw, pictures = 1 }: Readings & { raw?: RawPixels } = {},
): Promise<ReadableFile> {
  switch (raw === undefined && input[0]) {
    case PNG: {
      const original = withoutBulkyTexts(input);
      return { original, ...(await withPngProfile(original)) };
    }
    case BOX: {
      const original = withStillBrand(input);
      return { original, ...(await withAvifColours(original, pictures)) };
    }
    default:
      return { original: input, input, isHdr: false };
  }
}
