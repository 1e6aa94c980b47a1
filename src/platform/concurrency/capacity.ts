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
 * The current values of the capacity settings. Code reads them at each use and keeps no copy. Code that cannot, such as
 * a pool of threads, subscribes to changes.
 */
export interface Capacity {
  /** The API processes of the host. */
  processes(): number;
  /** Image threads of each process. */
  imageThreads(): number;
  /** Render threads of each process. */
  renderThreads(): number;
  /** Image calls of each process that may wait. */
  imageQueue(): number;
  /** The longest wait, in milliseconds, of an image call in an overload. A call that would wait longer is refused. */
  imageWaitMs(): number;
  /** The most job items of each kind of work that a process works on at once. */
  jobItems(): number;
  /** Webhook attempts in flight on the host. */
  webhookAttempts(): number;
  /** Calls back after each change. */
  onChange(listener: () => void): void;
}

/** The capacity settings of this process, which can change while it runs. */
export class ChangeableCapacity implements Capacity {
  readonly #values: Record<CapacitySetting, number>;
  readonly #listeners: Array<() => void> = [];

  /** @param initial the initial values. Other settings in it are ignored. */
  constructor(initial: Readonly<Record<CapacitySetting, number>>) {
    const values = CAPACITY_SETTINGS.map((name) => [name, initial[name]]);
    this.#values = Object.fromEntries(values) as Record<CapacitySetting, number>;
  }

  readonly processes = () => this.#values.PROCESSES;
  readonly imageThreads = () => this.#values.IMAGE_THREADS;
  readonly renderThreads = () => this.#values.RENDER_THREADS;
  readonly imageQueue = () => this.#values.IMAGE_QUEUE;
  readonly imageWaitMs = () => this.#values.IMAGE_WAIT_MS;
  readonly jobItems = () => this.#values.JOB_ITEMS;
  readonly webhookAttempts = () => this.#values.WEBHOOK_CONCURRENCY;

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
