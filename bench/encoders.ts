import { computeSsim, lumaOf } from '../workers/image/likeness/ssim.ts';
import { computeSsimulacra2 } from '../workers/image/likeness/ssimulacra2.ts';
import type { EncodeOptions } from '../workers/protocol.ts';
import {
  encodeByService,
  isInstalled,
  photographs,
  type RasterPicture,
  readPicture,
  sizeByTool,
  TOOLS,
  type ToolFormat,
  WIDTH_PX,
} from './encoder-tools.ts';
import { mean, round, type SuiteResult, type SuiteRow } from './suite.ts';

/** Measures at which sizes are compared; each grows with the quality. */
const MEASURES = {
  ssim: (one: RasterPicture, other: RasterPicture) =>
    computeSsim(lumaOf(one.data, one), lumaOf(other.data, other)),
  ssimulacra2: computeSsimulacra2,
};
type LikenessMeasure = keyof typeof MEASURES;

interface EncoderCase {
  name: string;
  encode: EncodeOptions;
  /** The measure at which the size is compared. */
  at: LikenessMeasure;
}

const CASES: readonly EncoderCase[] = [
  { name: 'default', encode: {}, at: 'ssimulacra2' },
  { name: 'minSsim 0.9', encode: { target: { minSsim: 0.9 } }, at: 'ssim' },
  { name: 'minSsim 0.97', encode: { target: { minSsim: 0.97 } }, at: 'ssim' },
  { name: 'ssimulacra2 75', encode: { target: { ssimulacra2: 75 } }, at: 'ssimulacra2' },
  { name: 'maxBytes 40000', encode: { target: { maxBytes: 40_000 } }, at: 'ssimulacra2' },
];

/**
 * Compares the encoders' results, by default and for each target, with cjpeg, cwebp and avifenc at equal likeness, and
 * reports the number of trials.
 */
export async function run(): Promise<SuiteResult> {
  const pictures = Object.values(await photographs());
  const rows: SuiteRow[] = [];
  for (const format of Object.keys(TOOLS) as ToolFormat[]) {
    for (const one of CASES) {
      const row = await measure(format, one, pictures);
      rows.push(row);
      console.log(JSON.stringify(row));
    }
  }
  console.table(rows);
  const method = `${pictures.length} photographs, ${WIDTH_PX} px wide at most, each as PNG to each format. Over the tool: the size over that of ${Object.values(
    TOOLS,
  )
    .map(({ program }) => program.join(' '))
    .join(
      ', ',
    )} at equal SSIM (for minSsim) or SSIMULACRA 2, on the line between two of its qualities, in per cent; no figure if it is not installed.`;
  return { method, rows };
}

async function measure(
  format: ToolFormat,
  { name, encode, at }: EncoderCase,
  pictures: RasterPicture[],
): Promise<SuiteRow> {
  const measured = MEASURES[at];
  const scores: number[] = [];
  const trials: number[] = [];
  const over: number[] = [];
  const cpuMs: number[] = [];
  for (const picture of pictures) {
    const before = process.cpuUsage();
    const { data, achieved } = await encodeByService(picture, { ...encode, format });
    const { user, system } = process.cpuUsage(before);
    cpuMs.push((user + system) / 1000);
    const copy = await readPicture(data);
    scores.push(computeSsimulacra2(picture, copy));
    if (achieved !== undefined) trials.push(achieved.trials);
    if (!isInstalled(format)) continue;
    const byTool = await sizeByTool(format, picture, measured(picture, copy), (file) =>
      readPicture(file).then((other) => measured(picture, other)),
    );
    over.push(100 * (data.byteLength / byTool - 1));
  }
  return {
    case: `${format} ${name}`,
    'CPU ms': round(mean(cpuMs), 0),
    ssimulacra2: round(mean(scores), 1),
    'from, to': `${round(Math.min(...scores), 1)}, ${round(Math.max(...scores), 1)}`,
    ...(over.length > 0 && {
      'over the tool %': round(mean(over), 1),
      'worst %': round(Math.max(...over), 1),
    }),
    ...(trials.length > 0 && { trials: round(mean(trials), 1), 'most trials': Math.max(...trials) }),
  };
}
