import { Counter, Gauge } from 'prom-client';
import { readMemoryKills, readThrottledSeconds, usableMemoryBytes } from '../concurrency/control-group.ts';
import { declareGauge } from './gauge.ts';
import {
  type ProcessRole,
  type ProcessTableRow,
  readPressureSeconds,
  readProcessTable,
  readStolenSeconds,
} from './proc.ts';

interface HostMetricsOptions {
  version: string;
  /** Measures the disk of DATA_DIR: its free space, and how much of it is kept free. */
  readDisk: () => Promise<{ freeBytes: number; reservedBytes: number }>;
  /** Cores that the service may use, such as 1.5. */
  cores: number;
  /** Reads the processes of the service. By default, these are the primary and its descendants. */
  table?: () => Promise<ProcessTableRow[]>;
}

/** Declares the metrics of the host in Prometheus' default register. They are measured at each scrape. */
export function installHostMetrics(options: HostMetricsOptions): void {
  const { version, readDisk, cores, table = readProcessTable } = options;
  new Gauge({
    name: 'darkroom_build_info',
    help: 'Always 1; the labels are the version of the service and of Node.js.',
    labelNames: ['version', 'node'],
  }).set({ version, node: process.versions.node }, 1);
  new Gauge({
    name: 'darkroom_cpu_cores',
    help: 'Cores that the service may use: those of the machine, or the quota of its control group.',
  }).set(cores);
  declareProcessMetrics(table);
  declareDiskMetrics(readDisk);
  new Gauge({
    name: 'darkroom_memory_limit_bytes',
    help: 'Memory that the service may use: that of the machine, or the least limit of its control groups.',
  }).set(usableMemoryBytes());
  declareKernelCounter(
    'darkroom_memory_kills_total',
    'Processes of the control group of the service that the kernel killed because memory ran out; absent where nothing counts them.',
    readMemoryKills,
  );
  declareKernelCounter(
    'darkroom_cpu_throttled_seconds_total',
    'Time that the control group of the service, or a parent, waited for CPU beyond its quota; absent where nothing counts it.',
    readThrottledSeconds,
  );
  declareKernelCounter(
    'darkroom_cpu_stolen_seconds_total',
    'Time for which the hypervisor gave the cores of this machine to others, as the mean of its cores; absent where the kernel does not tell.',
    readStolenSeconds,
  );
  declareKernelCounter(
    'darkroom_cpu_pressure_seconds_total',
    'Time in which a task of this machine, of the service or not, was ready and had no core; absent where the kernel does not tell.',
    readPressureSeconds,
  );
}

function declareProcessMetrics(table: () => Promise<ProcessTableRow[]>): void {
  /** The CPU time of each process at the last scrape. */
  let known = new Map<string, number>();
  let reading: Promise<void> | undefined;
  /** Shares one measurement among the three metrics of a scrape. */
  const collect = () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const labelNames = ['role'] as const;
  const count = new Gauge({
    name: 'darkroom_processes',
    help: 'Processes by role: primary, api, spare, browser, slow, heavy, batch, image, vector, other.',
    labelNames,
    collect,
  });
  const resident = new Gauge({
    name: 'darkroom_process_memory_bytes',
    help: 'Resident memory of the processes of a role; memory that browsers share counts in each of them.',
    labelNames,
    collect,
  });
  const cpu = new Counter({
    name: 'darkroom_process_cpu_seconds_total',
    help: 'CPU time of the processes of a role, including those that have ended, as of the last scrape before.',
    labelNames,
    collect,
  });

  async function read(): Promise<void> {
    const rows = await table();
    count.reset();
    resident.reset();
    for (const { id, role, residentBytes, cpuSeconds } of rows) {
      count.inc({ role });
      resident.inc({ role }, residentBytes);
      cpu.inc({ role } satisfies { role: ProcessRole }, Math.max(0, cpuSeconds - (known.get(id) ?? 0)));
    }
    known = new Map(rows.map(({ id, cpuSeconds }) => [id, cpuSeconds]));
  }
}

function declareDiskMetrics(readDisk: HostMetricsOptions['readDisk']): void {
  declareGauge(
    'darkroom_data_free_bytes',
    'Free space on the disk of DATA_DIR, as far as this user may use it.',
    async () => (await readDisk()).freeBytes,
  );
  declareGauge(
    'darkroom_data_reserve_bytes',
    'Free space on the disk of DATA_DIR below which uploads and jobs are refused.',
    async () => (await readDisk()).reservedBytes,
  );
}

/**
 * Declares a counter whose value comes from the kernel. The metric is absent if the kernel does not have the counter.
 */
function declareKernelCounter(name: string, help: string, read: () => number | null): void {
  let counted = 0;
  new Counter({
    name,
    help,
    collect() {
      const total = read();
      if (total === null) return this.remove();
      this.inc(Math.max(0, total - counted));
      counted = total;
    },
  });
}

/** The reason for which a process of the service was replaced. */
export type RestartReason = (typeof RESTART_REASONS)[number];
const RESTART_REASONS = ['exit', 'signal', 'memory', 'hung'] as const;

/**
 * Declares the counter of replaced processes by reason. Only the primary has it.
 * @returns a function that counts a replaced process.
 */
export function declareRestartCounter(): (reason: RestartReason) => void {
  const restarts = new Counter({
    name: 'darkroom_process_restarts_total',
    help: 'API processes that ended and were replaced, by reason: exit, signal (killed by somebody), memory (killed by the kernel, which had no memory left) or hung.',
    labelNames: ['reason'],
  });
  // Starting at zero lets an alert see the first restart as an increase.
  for (const reason of RESTART_REASONS) restarts.inc({ reason }, 0);
  return (reason) => restarts.inc({ reason });
}
