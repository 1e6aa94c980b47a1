import { computeSsimulacra2 } from '../workers/image/likeness/ssimulacra2.ts';
import type { OutputFormat } from '../workers/protocol.ts';
import {
  encodeByService,
  photographs,
  pictureSets,
  type RasterPicture,
  readPicture,
  WIDTH_PX,
} from './encoder-tools.ts';
import { mean, type PlotData, round, type SuiteResult, type SuiteRow } from './suite.ts';

const FORMATS = environmentList('BENCH_FORMATS', ['jpeg', 'webp', 'avif']) as OutputFormat[];
const WIDTHS = environmentList('BENCH_WIDTHS', [String(WIDTH_PX)]).map(Number);
/** A folder with a folder of pictures for each set; without it, the photographs of the bench are the only set. */
const FOLDER = process.env.BENCH_PICTURES;
const EFFORTS = [undefined, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
/** The SSIMULACRA 2 score at which files are compared. It is that of the default qualities. */
const SSIMULACRA2_SCORE = 77;
const QUALITIES = { least: 20, most: 99 };
/** Number of runs, of which the fastest counts, because noise only ever adds time. */
const TIMED_RUNS = 3;

/**
 * Measures CPU time and bytes of each encoder at equal likeness, at each effort, and the likeness of the default. No
 * step may cost more and give a larger file.
 */
export async function run(): Promise<SuiteResult> {
  const rows: SuiteRow[] = [];
  const curves: PlotData[] = [];
  for (const width of WIDTHS) {
    const sets =
      FOLDER === undefined ? { photographs: await photographs(width) } : await pictureSets(FOLDER, width);
    for (const [set, pictures] of Object.entries(sets)) {
      for (const format of FORMATS) {
        const measured = await measuredEfforts(pictures, format, `${set} ${width} px, ${format}`);
        rows.push(...measured.rows);
        curves.push(measured.curve);
      }
    }
  }
  console.table(rows);
  return {
    method: `Each picture as PNG to each format at the quality whose SSIMULACRA 2 is ${SSIMULACRA2_SCORE}, between two qualities on the line. CPU of the whole pass, the least of ${TIMED_RUNS} runs; bytes are the geometric mean. The first row of a format is its default effort; "by default" is the SSIMULACRA 2 at the default quality, in the mean and of the worst picture.`,
    rows,
    curves,
  };
}

async function measuredEfforts(pictures: Record<string, RasterPicture>, format: OutputFormat, title: string) {
  const rows: SuiteRow[] = [];
  const points: Array<{ x: number; y: number }> = [];
  for (const effort of EFFORTS) {
    const files = [];
    for (const picture of Object.values(pictures)) files.push(await fileAt(picture, format, effort));
    const cpuMs = round(mean(files.map(({ cpuMs }) => cpuMs)), 1);
    const bytes = Math.round(Math.exp(mean(files.map(({ bytes }) => Math.log(bytes)))));
    const row = {
      case: `${title} ${effort ?? 'by default'}`,
      pictures: files.length,
      'CPU ms': cpuMs,
      bytes,
      quality: round(mean(files.map(({ quality }) => quality)), 1),
      ...(effort === undefined && (await defaultLikeness(pictures, format))),
    };
    if (effort !== undefined) points.push({ x: cpuMs, y: bytes });
    rows.push(row);
    console.log(JSON.stringify(row));
  }
  return { rows, curve: { title, xLabel: 'CPU ms', yLabel: 'bytes', points } };
}

/** The SSIMULACRA 2 of the files that a call without settings gets. */
async function defaultLikeness(
  pictures: Record<string, RasterPicture>,
  format: OutputFormat,
): Promise<SuiteRow> {
  const scores: Array<readonly [string, number]> = [];
  for (const [name, picture] of Object.entries(pictures)) {
    const { data } = await encodeByService(picture, { format });
    scores.push([name, computeSsimulacra2(picture, await readPicture(data, picture.width))]);
  }
  const [worst, least] = scores.reduce((one, other) => (other[1] < one[1] ? other : one));
  return { 'by default': round(mean(scores.map(([, score]) => score)), 1), least: round(least, 1), worst };
}

/** The file at SSIMULACRA2_SCORE, interpolated between the two nearest qualities. */
async function fileAt(picture: RasterPicture, format: OutputFormat, effort: number | undefined) {
  const encodedAt = (quality: number) =>
    encodeByService(picture, { format, quality, ...(effort !== undefined && { effort }) });
  const attempt = async (quality: number) => {
    const { data } = await encodedAt(quality);
    const likeness = computeSsimulacra2(picture, await readPicture(data, picture.width));
    return { quality, bytes: data.byteLength, likeness };
  };
  let [low, high] = [await attempt(QUALITIES.least), await attempt(QUALITIES.most)];
  while (high.quality - low.quality > 1) {
    const middle = await attempt((low.quality + high.quality) >> 1);
    if (middle.likeness < SSIMULACRA2_SCORE) low = middle;
    else high = middle;
  }
  const share = Math.min(1, Math.max(0, (SSIMULACRA2_SCORE - low.likeness) / (high.likeness - low.likeness)));
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < TIMED_RUNS; run += 1) {
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

function environmentList(variable: string, fallback: readonly string[]): readonly string[] {
  return process.env[variable]?.split(',') ?? fallback;
}
