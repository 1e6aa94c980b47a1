import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { type Pixels, type Rgba, readPixels } from '../pixels/pixels.ts';
import { parseCssColour } from './colour.ts';

/** The number of channels of a pixel. The pixels form one row, one pixel per colour. */
const CHANNEL_COUNT = 3;

/**
 * Converts CSS colours, which are sRGB, to the values of a picture that keeps its own profile, so that the painted
 * result shows the intended colours. Texts that are not colours are left out. If the profile cannot convert colours,
 * all texts are left out.
 * @returns the converted colour for each text.
 */
export async function convertColoursToProfile(
  texts: readonly string[],
  profile: Uint8Array,
): Promise<Map<string, string>> {
  const colours = texts.flatMap((text): [string, Rgba][] => {
    const parsed = parseCssColour(text);
    return parsed === undefined ? [] : [[text, parsed]];
  });
  if (colours.length === 0) return new Map();
  const row = Uint8Array.from(colours.flatMap(([, { r, g, b }]) => [r, g, b]));
  const converted = await convertRow(row, profile).catch(() => undefined);
  // A profile of another colour space cannot describe RGB pixels.
  if (converted?.channels !== CHANNEL_COUNT) return new Map();
  return new Map(
    colours.map(([text, { alpha }], index) => {
      const [r, g, b] = converted.data.subarray(index * CHANNEL_COUNT);
      return [text, `rgba(${r}, ${g}, ${b}, ${alpha})`];
    }),
  );
}

/**
 * Converts a row of RGB pixels. The profile is written to a temporary file, because sharp reads a profile from a file
 * only.
 */
async function convertRow(row: Uint8Array, profile: Uint8Array): Promise<Pixels> {
  const path = join(tmpdir(), `darkroom-${randomUUID()}.icc`);
  const raw = { width: row.length / CHANNEL_COUNT, height: 1, channels: CHANNEL_COUNT } as const;
  try {
    await writeFile(path, profile, { mode: 0o600, flag: 'wx' });
    return await readPixels(sharp(row, { raw }).withIccProfile(path, { attach: false }));
  } finally {
    await rm(path, { force: true });
  }
}
