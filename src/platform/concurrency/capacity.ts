/** Settings that limit how much of the host the service uses. An operator can change them while it runs. */
export const CAPACITY_SETTINGS = [
  'PROCESSES',
  'IMAGE_THREADS',
  'RENDER_THREADS',
  'IMAGE_QUEUE',
  'IMAGE_WAIT_MS',
  'JOB_ITEMS',
  'WEBHOOK_CONCURRENCY',
] as const;
export type CapacitySetting = (typeof CAPACITY_SETTINGS)[number];

/**
 * The current values of the capacity settings of this process. Code reads them at each use and keeps no copy. Code that
 * cannot, such as a pool of threads, subscribes to changes.
 */
export class Capacity {
  readonly #values: Record<CapacitySetting, number>;
  readonly #listeners: Array<() => void> = [];

  /** @param initial the initial values. Other settings in it are ignored. */
  constructor(initial: Readonly<Record<CapacitySetting, number>>) {
    const values = CAPACITY_SETTINGS.map((name) => [name, initial[name]]);
    this.#values = Object.fromEntries(values) as Record<CapacitySetting, number>;
  }

  /** The API processes of the host. */
  readonly processes = () => this.#values.PROCESSES;
  /** Image threads of each process. */
  readonly imageThreads = () => this.#values.IMAGE_THREADS;
  /** Render threads of each process. */
  readonly renderThreads = () => this.#values.RENDER_THREADS;
  /** Image calls of each process that may wait. */
  readonly imageQueue = () => this.#values.IMAGE_QUEUE;
  /** The longest wait, in milliseconds, of an image call in an overload. A call that would wait longer is refused. */
  readonly imageWaitMs = () => this.#values.IMAGE_WAIT_MS;
  /** The most job items of each kind of work that a process works on at once. */
  readonly jobItems = () => this.#values.JOB_ITEMS;
  /** Webhook attempts in flight on the host. */
  readonly webhookAttempts = () => this.#values.WEBHOOK_CONCURRENCY;

  /** Calls back after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The present values of all capacity settings, keyed by their names. */
  values(): Record<CapacitySetting, number> {
    return { ...this.#values };
  }

  set(name: CapacitySetting, value: number): void {
    this.#values[name] = value;
    for (const listener of this.#listeners) listener();
  }
}

/**
 * The number of libuv threads in one process. sharp decodes on them, and file reads and DNS queries use them too, so
 * there are enough for both.
 */
export function libuvThreadCount({ imageThreads }: Pick<Capacity, 'imageThreads'>): number {
  return Math.max(8, 4 + 2 * imageThreads());
}
