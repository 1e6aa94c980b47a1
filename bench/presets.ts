import sharp from 'sharp';
import { type Api, openApi } from './api.ts';
import { photograph } from './load/pictures.ts';
import { startBenchServer } from './server.ts';
import { median, round, type SuiteResult, type SuiteRow, timed } from './suite.ts';

interface PresetCase {
  name: string;
  picture: Uint8Array<ArrayBuffer>;
  type: string;
}

type StepParameters = Record<string, string | number>;

/** The steps that a shop applies to a photo, in sequence. */
const STEPS: Array<{ op: string; parameters: StepParameters }> = [
  { op: 'crop', parameters: { aspect: '4:3' } },
  { op: 'resize', parameters: { width: 1200 } },
  { op: 'adjust', parameters: { brightness: 1.05, saturation: 1.1 } },
  { op: 'sharpen', parameters: { sigma: 1 } },
  { op: 'convert', parameters: { format: 'webp', quality: 80 } },
];

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);

/**
 * Compares a preset of five steps with the same five steps as single calls, each of which sends the previous answer.
 */
export async function run(): Promise<SuiteResult> {
  await using server = await startBenchServer();
  const rows: SuiteRow[] = [];
  const api = openApi(server);
  await api.post('/presets', { name: 'bench', steps: STEPS });
  for (const benchCase of await cases()) rows.push(await measure(api, benchCase));
  console.table(rows);
  const method = `Median of ${ROUNDS} rounds, one call in flight: one transform by a preset of five steps, and five transforms in a chain, in turn. Times are milliseconds as the client sees them; single calls keep the picture's own format between steps.`;
  return { method, rows };
}

async function measure(api: Api, { name, picture, type }: PresetCase): Promise<SuiteRow> {
  const preset: number[] = [];
  const single: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const presetMs = await timed(() => transform(api, { preset: 'bench' }, picture, type));
    const singleMs = await timed(() => transformOneByOne(api, picture, type));
    // The first round only warms up the threads.
    if (round === 0) continue;
    preset.push(presetMs);
    single.push(singleMs);
  }
  return {
    case: name,
    'preset ms': round(median(preset), 1),
    'five calls ms': round(median(single), 1),
    'ratio of times': round(median(single) / median(preset)),
  };
}

async function transformOneByOne(api: Api, picture: Uint8Array<ArrayBuffer>, type: string): Promise<void> {
  let between = { bytes: picture, type };
  for (const { op, parameters } of STEPS) {
    between = await transform(api, { op, ...parameters }, between.bytes, between.type);
  }
}

async function transform(
  api: Api,
  query: StepParameters,
  body: Uint8Array<ArrayBuffer>,
  type: string,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; type: string }> {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  const path = `/images/transform?${new URLSearchParams(parameters)}`;
  const response = await api.send(path, { type, bytes: body });
  if (!response.ok) throw new Error(`A transform answered ${response.status}: ${await response.text()}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { bytes, type: response.headers.get('content-type') ?? type };
}

async function cases(): Promise<PresetCase[]> {
  const photo = await photograph();
  const large = sharp(photo).resize(4000, 3000, { fit: 'cover' }).jpeg({ quality: 90 });
  const small = sharp(photo).resize(1152, 868, { fit: 'cover' }).png();
  return [
    { name: '12 MP JPEG', picture: new Uint8Array(await large.toBuffer()), type: 'image/jpeg' },
    { name: '1 MP PNG', picture: new Uint8Array(await small.toBuffer()), type: 'image/png' },
  ];
}
