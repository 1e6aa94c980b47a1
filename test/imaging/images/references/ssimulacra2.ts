/**
 * Finds the scores that ssimulacra2.test.ts holds, by the reference: the crate ssimulacra2 of rust-av, which follows
 * its author's own program (`cargo install ssimulacra2_rs --no-default-features` makes the command).
 *
 *     cd test/imaging/pixels/references && node ssimulacra2.ts FOLDER-OF-PNG-PHOTOGRAPHS > ssimulacra2.json
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import type { PixelRaster } from '../../../../workers/image/likeness/levels.ts';
import { computeSsimulacra2 } from '../../../../workers/image/likeness/ssimulacra2.ts';
import { PAIRS, pairNamed } from './pairs.ts';

const QUALITIES = { jpeg: [20, 50, 80, 95], webp: [20, 50, 83, 95], avif: [30, 50, 66, 90] } as const;
const WIDTHS_PX = [768, 301];

const folder = mkdtempSync(join(tmpdir(), 'ssimulacra2-'));
try {
  const scores: Record<string, number> = {};
  for (const name of Object.keys(PAIRS)) {
    const { model, copy } = pairNamed(name);
    scores[name] = await referenceScore(model, copy);
  }
  const photographs = await comparePhotographs(process.argv[2] ?? '.');
  console.log(JSON.stringify({ scores, photographs }, undefined, 2));
} finally {
  rmSync(folder, { recursive: true });
}

/**
 * How far this implementation is from the reference, over photographs, sizes, formats and qualities. The largest
 * differences are those of bright even ground at high scores, where the 32 bits of the reference's recursive blur are
 * seen: ssimulacra2.py measures them.
 */
async function comparePhotographs(photographs: string) {
  const differences: number[] = [];
  for (const name of readdirSync(photographs).filter((file) => file.endsWith('.png'))) {
    for (const width of WIDTHS_PX) {
      const model = await rasterOf(sharp(join(photographs, name)).resize({ width }));
      for (const copy of await copiesOf(model))
        differences.push(Math.abs(computeSsimulacra2(model, copy) - (await referenceScore(model, copy))));
    }
  }
  const mean = differences.reduce((sum, one) => sum + one, 0) / differences.length;
  const digits = (value: number) => Number(value.toFixed(4));
  return {
    compared: differences.length,
    meanDifference: digits(mean),
    largestDifference: digits(Math.max(...differences)),
  };
}

/** A picture by each encoder at each quality. */
async function copiesOf({ data, width, height }: PixelRaster): Promise<PixelRaster[]> {
  const raw = { width, height, channels: 3 } as const;
  const copies: PixelRaster[] = [];
  for (const [format, qualities] of Object.entries(QUALITIES)) {
    for (const quality of qualities) {
      const options = format === 'avif' ? { quality, effort: 2 } : { quality };
      const file = await sharp(data, { raw })
        .toFormat(format as keyof typeof QUALITIES, options)
        .toBuffer();
      copies.push(await rasterOf(sharp(file)));
    }
  }
  return copies;
}

async function rasterOf(pipeline: Sharp): Promise<PixelRaster> {
  const { data, info } = await pipeline.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

async function referenceScore(model: PixelRaster, copy: PixelRaster): Promise<number> {
  const files = [join(folder, 'model.png'), join(folder, 'copy.png')] as const;
  await writePng(model, files[0]);
  await writePng(copy, files[1]);
  const printed = execFileSync('ssimulacra2_rs', ['image', ...files], { encoding: 'utf8' });
  return Number(/-?\d+(\.\d+)?/.exec(printed)?.[0]);
}

function writePng({ data, width, height }: PixelRaster, file: string) {
  return sharp(data, { raw: { width, height, channels: 3 } })
    .png()
    .toFile(file);
}
