import { cpus } from 'node:os';
import sharp from 'sharp';
import { readPictures } from '../load/pictures.ts';
import type { BenchPicture } from '../load/suite.ts';
import { plottedPage } from '../report/pages.ts';
import { writeResult } from '../results.ts';
import { startBenchServer } from '../server.ts';
import type { SuiteRow } from '../suite.ts';
import { type Effort, measureCase } from './measure.ts';
import { type PeerOptions, readPeerOptions, serveSources } from './options.ts';
import { assetSide, bodySide, type PeerCase, type PeerFormat, type PeerSide, peerSide } from './sides.ts';

const DEFAULT_EFFORT: Effort = {
  inFlight: 4,
  rounds: Number(process.env.BENCH_ROUNDS ?? 3),
  roundMs: Number(process.env.BENCH_ROUND_MS ?? 3_000),
  quality: 80,
};
const FORMATS: readonly PeerFormat[] = ['webp', 'jpeg', 'avif'];
const WIDTH_PX = 512;
/** A picture that is too small for the usual width is scaled to this share of its own width. */
const MIN_SCALE = 0.32;

/**
 * `peers --imgproxy URL …`: compares Darkroom with servers that the user has running. All are asked for the same
 * pictures, in turn.
 */
export async function runPeers(argv: readonly string[]): Promise<void> {
  const options = readPeerOptions(argv);
  const pictures = await readPictures(options.imagesFolder);
  const cases = (await Promise.all(pictures.map(prepareCases)))
    .flat()
    .filter(({ name }) => name.includes(options.cases));
  if (cases.length === 0) throw new Error(`--cases is "${options.cases}", which no case has in its name.`);
  using sources = await serveSources(pictures);
  await using server = await startBenchServer({ IMAGE_WAIT_MS: '60000' });
  const peers = options.peers.map((peer) => peerSide(peer, sources));
  const rows = await measureAll(cases, [bodySide(server), assetSide(server), ...peers]);
  console.table(rows);
  await writeRows(rows, options);
}

async function measureAll(
  cases: readonly PeerCase[],
  sides: readonly [PeerSide, ...PeerSide[]],
): Promise<SuiteRow[]> {
  const rows: SuiteRow[] = [];
  for (const peerCase of cases)
    for (const row of await measureCase(peerCase, sides, DEFAULT_EFFORT)) {
      rows.push(row);
      console.log(JSON.stringify(row));
    }
  return rows;
}

/** A picture in each format at one width. */
async function prepareCases(picture: BenchPicture): Promise<PeerCase[]> {
  const { autoOrient } = await sharp(picture.bytes).metadata();
  const width = Math.min(WIDTH_PX, Math.round(autoOrient.width * MIN_SCALE));
  return FORMATS.map((format) => ({
    name: `${picture.name} to ${width} px ${format}`,
    picture,
    width,
    format,
  }));
}

async function writeRows(rows: SuiteRow[], { out }: PeerOptions): Promise<void> {
  const { inFlight, rounds, roundMs, quality } = DEFAULT_EFFORT;
  const result = {
    suite: 'peers',
    at: new Date().toISOString(),
    cores: cpus().length,
    node: process.version,
    method: `${inFlight} calls in flight at quality ${quality}, medians of ${rounds} rounds of ${roundMs} ms, all servers in turn. CPU is that of a server's process tree per call, ratio CPU is that over Darkroom's by body in the same round. Peers fetch their source from the bench, each time at another address. SSIMULACRA 2 is that of the answer against the source scaled by Lanczos; ratio bytes is the answer's size over Darkroom's at that SSIMULACRA 2.`,
    rows,
  };
  await writeResult('peers', {
    result,
    html: plottedPage({ title: `peers ${result.at}`, report: result, script: 'table.js' }),
    folder: out,
  });
}
