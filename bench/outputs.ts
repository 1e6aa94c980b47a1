import { openApi } from './api.ts';
import { cpuMs } from './cpu.ts';
import type { BenchServer } from './server.ts';
import { median, round, type SuiteRow } from './suite.ts';

const WIDTHS = [1_600, 800, 320];
const CALLS = 8;

/** Compares one call that makes three sizes of a photograph with three calls, in turn and one at a time. */
export async function outputsRow(
  server: BenchServer,
  jpeg: Uint8Array,
  { format, rounds }: { format: string; rounds: number },
): Promise<SuiteRow> {
  const outputs = WIDTHS.map((width) => ({ name: `w${width}`, op: 'resize', parameters: { width, format } }));
  const together = async () => {
    const form = new FormData();
    form.set('outputs', JSON.stringify(outputs));
    form.set('file', new Blob([new Uint8Array(jpeg)], { type: 'image/jpeg' }), 'photo.jpg');
    const headers = { authorization: `ApiKey ${server.key}` };
    await received(
      await fetch(`${server.url}/api/v1/images/transform`, { method: 'POST', headers, body: form }),
    );
  };
  const apart = async () => {
    for (const width of WIDTHS) {
      const query = `op=resize&width=${width}&format=${format}`;
      const body = { type: 'image/jpeg', bytes: jpeg };
      await received(await openApi(server).send(`/images/transform?${query}`, body));
    }
  };
  const [one, three]: [SpentMs[], SpentMs[]] = [[], []];
  await spent(server, together);
  await spent(server, apart);
  for (let number = 0; number < rounds; number += 1) {
    three.push(await spent(server, apart));
    one.push(await spent(server, together));
  }
  const times = (of: SpentMs[], part: keyof SpentMs) => median(of.map((each) => each[part]));
  return {
    case: `12 MP JPEG to three sizes as ${format}: one call beside three`,
    inFlight: 1,
    p50: round(times(one, 'wallMs')),
    'three p50': round(times(three, 'wallMs')),
    'CPU ms': round(times(one, 'cpuMs')),
    'three CPU ms': round(times(three, 'cpuMs')),
    'ratio CPU of three': round(times(one, 'cpuMs') / times(three, 'cpuMs')),
  };
}

interface SpentMs {
  wallMs: number;
  /** CPU time of the service. */
  cpuMs: number;
}

/** The mean time of some calls. */
async function spent({ pid }: BenchServer, call: () => Promise<void>): Promise<SpentMs> {
  const [cpuBeforeMs, beforeMs] = [cpuMs(pid), performance.now()];
  for (let number = 0; number < CALLS; number += 1) await call();
  return { wallMs: (performance.now() - beforeMs) / CALLS, cpuMs: (cpuMs(pid) - cpuBeforeMs) / CALLS };
}

async function received(answer: Response): Promise<void> {
  await answer.bytes();
  if (!answer.ok) throw new Error(`A transform answered ${answer.status}.`);
}
