import { ssimulacra2 } from '../workers/image/likeness/ssimulacra2.ts';
import type { OutputFormat } from '../workers/protocol.ts';
import { encoded, photographs, pictureOf } from './encoded-pictures.ts';
import type { Picture } from './encoder-tools.ts';
import { type Row, round, type SuiteResult } from './suite.ts';

const FORMATS: readonly OutputFormat[] = ['jpeg', 'webp', 'avif'];
const EFFORTS = [undefined, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** The SSIMULACRA 2 at which files are compared: that of the default qualities. */
const LIKENESS = 77;
const QUALITIES = { least: 20, most: 99 };
/** Number of runs, of which the fastest counts, because noise only ever adds time. */
const RUNS = 3;

/**
 * Measures CPU time and bytes of each encoder at equal likeness, at each effort. No step may cost more and give a
 * larger file.
 */
export async function run(): Promise<SuiteResult> {
  const pictures = await photographs();
  const rows: Row[] = [];
  for (const format of FORMATS) {
    for (const effort of EFFORTS) {
      const files = [];
      for (const picture of pictures) files.push(await fileAt(picture, format, effort));
      const row = {
        case: `${format} ${effort ?? 'by default'}`,
        'CPU ms': round(mean(files.map(({ cpuMs }) => cpuMs)), 1),
        bytes: Math.round(Math.exp(mean(files.map(({ bytes }) => Math.log(bytes))))),
        quality: round(mean(files.map(({ quality }) => quality)), 1),
      };
      rows.push(row);
      console.log(JSON.stringify(row));
    }
  }
  console.table(rows);
  return {
    method: `${pictures.length} photographs, each as PNG to each format at the quality whose SSIMULACRA 2 is ${LIKENESS}, between two qualities on the line. CPU of the whole pass, the least of ${RUNS} runs; bytes are the geometric mean.`,
    rows,
  };
}

/** The file at the wanted likeness, interpolated between the two nearest qualities. */
async function fileAt(picture: Picture, format: OutputFormat, effort: number | undefined) {
  const encodedAt = (quality: number) =>
    encoded(picture, { format, quality, ...(effort !== undefined && { effort }) });
  const attempt = async (quality: number) => {
    const { data } = await encodedAt(quality);
    return { quality, bytes: data.byteLength, likeness: ssimulacra2(picture, await pictureOf(data)) };
  };
  let [low, high] = [await attempt(QUALITIES.least), await attempt(QUALITIES.most)];
  while (high.quality - low.quality > 1) {
    const middle = await attempt((low.quality + high.quality) >> 1);
    if (middle.likeness < LIKENESS) low = middle;
    else high = middle;
  }
  const share = (LIKENESS - low.likeness) / (high.likeness - low.likeness);
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run += 1) {
    const before = process.cpuUsage();
    await encodedAt(high.quality);
    const { user, system } = process.cpuUsage(before);
    cpuMs = Math.min(cpuMs, (user + system) / 1_000);
  }
  return {
    cpuMs,
    quality: low.quality + share,
    bytes: Math.exp(Math.log(low.bytes) + share * Math.log(high.bytes / low.bytes)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
