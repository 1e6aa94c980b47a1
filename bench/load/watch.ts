import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { processesBelow } from '../cpu.ts';
import { rounded } from './tally.ts';

/** The use of one process of the instance in a second. */
export interface ProcessSample {
  pid: number;
  /** Role in the service, such as `primary`, or the name of the program. */
  name: string;
  /** Share of one core. */
  cpuShare: number;
  rssBytes: number;
}

/** A sample of the instance's processes and pools at one moment. */
export interface InstanceSample {
  /** Seconds since the watch began. */
  at: number;
  /** Empty if the instance runs elsewhere. */
  processes: ProcessSample[];
  /** Sum over the processes, by pool and measure: `image` → busy, queued, threads. */
  pools: Record<string, Record<string, number>>;
}

export interface Watch {
  /** Seconds since the watch began, to place a stage in the samples. */
  seconds(): number;
  stop(): InstanceSample[];
}

const SAMPLE_INTERVAL_MS = 1_000;

/** Samples the instance each second: CPU and memory of its processes if they run here, and the pools from /metrics. */
export function watchInstance(url: string, pid: number | null): Watch {
  const samples: InstanceSample[] = [];
  const startMs = performance.now();
  const seconds = () => (performance.now() - startMs) / 1000;
  let before = cpuByPid(pid);
  let beforeMs = startMs;
  let isSampling = false;

  async function takeSample(): Promise<void> {
    const now = pid === null ? [] : processesBelow(pid);
    const nowMs = performance.now();
    const elapsedMs = nowMs - beforeMs;
    const processes = now.map(({ pid: member, name, cpuMs, rssBytes }) => ({
      pid: member,
      name: member === pid ? 'primary' : roleOf(member, name),
      cpuShare: rounded(Math.max(0, cpuMs - (before.get(member) ?? cpuMs)) / elapsedMs),
      rssBytes,
    }));
    before = new Map(now.map((member) => [member.pid, member.cpuMs]));
    beforeMs = nowMs;
    const pools = await readPools(url);
    samples.push({ at: rounded(seconds(), 1), processes, pools });
  }

  const timer = setInterval(() => {
    if (isSampling) return;
    isSampling = true;
    takeSample()
      .catch(() => undefined)
      .finally(() => {
        isSampling = false;
      });
  }, SAMPLE_INTERVAL_MS);
  return {
    seconds,
    stop() {
      clearInterval(timer);
      return samples;
    },
  };
}

/** The role of a process by its command line, because all processes of Node have the same name. */
function roleOf(pid: number, name: string): string {
  try {
    // Chromium writes its whole command line as one argument.
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split(/[\0 ]/);
    const script = args.find((arg) => /\.[jt]s$/.test(arg));
    if (script === undefined) return basename(args[0] || name);
    return /host\/(main|server)\.ts$/.test(script) ? 'API process' : basename(script);
  } catch {
    return name;
  }
}

function cpuByPid(pid: number | null): Map<number, number> {
  return new Map((pid === null ? [] : processesBelow(pid)).map((member) => [member.pid, member.cpuMs]));
}

async function readPools(url: string): Promise<InstanceSample['pools']> {
  const answer = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(SAMPLE_INTERVAL_MS) });
  return answer.ok ? parsePools(await answer.text()) : {};
}

/** Reads the lines `darkroom_pool_<measure>{…pool="<name>"…} <value>`, summed over all other labels. */
export function parsePools(text: string): InstanceSample['pools'] {
  const pools: InstanceSample['pools'] = {};
  for (const [, measure = '', pool = '', value] of text.matchAll(
    /^darkroom_pool_(\w+)\{[^}]*pool="([^"]+)"[^}]*\} ([\d.eE+-]+)$/gm,
  )) {
    const measures = pools[pool] ?? {};
    measures[measure] = (measures[measure] ?? 0) + Number(value);
    pools[pool] = measures;
  }
  return pools;
}
