import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type ConnectOverCDPTransport, chromium, type Browser as Driver } from 'playwright';
import { preferForOomKill } from '../transport/process-state.ts';
import {
  killProcessGroup,
  makeBrowserDirectory,
  preferGroupForOomKill,
  readGroupMemoryBytes,
  removeBrowserDirectory,
} from './browser-process.ts';
import { RESTRICTING_BROWSER_FLAGS } from './policy.ts';
import { NO_ANIMATION_FLAGS } from './stillness.ts';

/** The browser did not start; the message ends with the last lines that it printed. */
export class BrowserStartError extends Error {
  override readonly name = 'BrowserStartError';
  /** Whether the browser ended by its own fault, so that a second start may succeed. */
  readonly isCrash: boolean;

  constructor(message: string, { isCrash = false, ...options }: ErrorOptions & { isCrash?: boolean } = {}) {
    super(message, options);
    this.isCrash = isCrash;
  }
}

/**
 * The flags for drawing. They give the same pixels on every machine, and every image is decoded before its page is
 * captured.
 */
const DRAWING_FLAGS = [
  '--headless',
  '--hide-scrollbars',
  '--mute-audio',
  '--force-color-profile=srgb',
  '--font-render-hinting=none',
  '--disable-lcd-text',
  '--disable-gpu',
  // If a separate GPU process died, the browser would neither work nor exit. In the browser's own process, its death
  // ends the browser.
  '--in-process-gpu',
  '--disable-checker-imaging',
  // A capture waits for a frame, which would waste 17 ms at 60 frames per second.
  '--disable-frame-rate-limit',
] as const;

/** The flags for the process itself. /dev/shm is 64 MB in a container, too little for a page of 4096 × 4096. */
const PROCESS_FLAGS = [
  '--enable-features=NetworkServiceInProcess2',
  '--remote-debugging-pipe',
  '--no-startup-window',
  '--no-first-run',
  '--no-default-browser-check',
  '--password-store=basic',
  '--use-mock-keychain',
  '--disable-dev-shm-usage',
  '--disable-hang-monitor',
  '--disable-popup-blocking',
  '--metrics-recording-only',
  // In its own process, a sandboxed frame would escape the interception of its page's requests.
  '--disable-features=IsolateSandboxedIframes,Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,PaintHolding,BackForwardCache,RenderDocument',
] as const;

/** The signals that end a process because of its own fault. */
const CRASH_SIGNALS: ReadonlySet<NodeJS.Signals | null> = new Set([
  'SIGSEGV',
  'SIGBUS',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
]);

const START_TIMEOUT_MS = 15_000;
const STDERR_TAIL_CHARACTERS = 2_000;

/**
 * One browser: a process group that Playwright drives over a pipe, and a directory that is removed when the browser has
 * ended.
 */
export interface Browser {
  /** The connection of Playwright to the browser. */
  driver: Driver;
  /**
   * Calls the listener when the process of a page dies, also for pages that Playwright has not reported yet. The
   * returned function stops the calls.
   */
  onPageCrash(listener: () => void): () => void;
  memoryBytes(): number;
  /** Makes Linux end the browser's processes first when memory runs out. Chromium itself would protect its pages. */
  preferForOomKill(): void;
  /** Resolves when the browser process has ended, for whatever reason. */
  ended: Promise<void>;
  /** Resolves when the browser has ended and its directory is removed. */
  gone: Promise<void>;
  /** Kills the whole process group. A page can hang a browser, so a request to close might never be answered. */
  kill(): void;
}

/**
 * Starts the browser process directly, because Playwright does not expose its process id. At the deadline of a page the
 * whole process group is killed, and its directory is removed.
 *
 * @param options.niceness of the whole group; a positive one yields the CPU to others.
 * @param options.sandboxed false for root, which Chromium's sandbox refuses, and where the kernel grants no user
 *   namespaces
 * @throws BrowserStartError
 */
export async function startBrowser(
  executable: string,
  { sandboxed, niceness = 0 }: { sandboxed: boolean; niceness?: number | undefined },
): Promise<Browser> {
  const scratch = await makeBrowserDirectory();
  const flags = [
    ...DRAWING_FLAGS,
    ...PROCESS_FLAGS,
    ...RESTRICTING_BROWSER_FLAGS,
    ...NO_ANIMATION_FLAGS,
    ...(sandboxed ? [] : ['--no-sandbox']),
  ];
  // The browser gets its own process group, so that one signal reaches the child processes that Chromium forks.
  const child = spawn(executable, [...flags, `--user-data-dir=${scratch}`], {
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    env: browserEnvironment(scratch),
  });
  const stderrTail = collectStderrTail(child);
  if (child.pid !== undefined) preferForOomKill(child.pid);
  if (niceness > 0 && child.pid !== undefined) lowerPriority(child.pid, niceness);
  const [, , , input, output] = child.stdio;
  const pipe = new PipeTransport(input as Writable, output as Readable);
  // A browser that could not be started has ended too.
  const ended = once(child, 'exit').then(
    () => {},
    () => {},
  );
  const kill = () => {
    if (child.pid !== undefined) killProcessGroup(child.pid);
  };
  const gone = ended.then(() => {
    pipe.close();
    // Processes that outlive the first one are killed with it: children of a launcher script or of Chromium.
    kill();
    // A file that cannot be removed is no reason to end the thread.
    return removeBrowserDirectory(scratch).catch(() => {});
  });
  try {
    // Playwright's own files are removed with the browser's directory.
    const driver = await chromium.connectOverCDP(pipe, { artifactsDir: scratch, timeout: START_TIMEOUT_MS });
    const onPageCrash = await createPageCrashSubscriber(driver);
    const groupId = child.pid ?? Number.NaN;
    return {
      ...{ driver, ended, gone, kill, onPageCrash },
      memoryBytes: () => readGroupMemoryBytes(groupId),
      preferForOomKill: () => preferGroupForOomKill(groupId),
    };
  } catch (error) {
    kill();
    await gone;
    const isCrash = CRASH_SIGNALS.has(child.signalCode);
    const message = `${executable} did not start: ${stderrTail()}`;
    throw new BrowserStartError(message, { cause: error, isCrash });
  }
}

/**
 * Lowers the priority of the browser; processes that it forks later inherit it. The browser has a separate session, and
 * Linux may divide the CPU between sessions first (sched_autogroup_enabled). In that case only the niceness of the
 * session counts, so it is set too. Errors are ignored, because the end of a browser is handled elsewhere.
 */
function lowerPriority(pid: number, niceness: number): void {
  try {
    setPriority(pid, niceness);
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {}
}

async function createPageCrashSubscriber(driver: Driver): Promise<Browser['onPageCrash']> {
  const session = await driver.newBrowserCDPSession();
  await session.send('Target.setDiscoverTargets', { discover: true });
  return (listener) => {
    session.on('Target.targetCrashed', listener);
    return () => session.off('Target.targetCrashed', listener);
  };
}

/** Stores the end of the browser's stderr and drains the rest, so that the browser never blocks on a full pipe. */
function collectStderrTail(child: ChildProcess): () => string {
  let tail = '';
  child.on('error', (error) => {
    tail += error.message;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-STDERR_TAIL_CHARACTERS);
  });
  return () => tail.trim() || 'it printed nothing';
}

/** The environment of the browser, which holds none of the service's settings and secrets. */
function browserEnvironment(scratch: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME ?? scratch,
    LANG: 'en_US.UTF-8',
    TMPDIR: scratch,
    // Variables that are undefined are not set.
    FONTCONFIG_FILE: process.env.FONTCONFIG_FILE,
    FONTCONFIG_PATH: process.env.FONTCONFIG_PATH,
    XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME,
    XDG_DATA_HOME: process.env.XDG_DATA_HOME,
  };
}

/**
 * Carries Playwright's messages over the browser's own pipe, as JSON that ends with a zero byte. No port is opened. The
 * browser exits when the pipe closes, so it never outlives the process that owns it.
 */
class PipeTransport implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly #input: Writable;
  #unfinished: Buffer[] = [];
  #closed = false;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    output.on('data', (chunk: Buffer) => this.#read(chunk));
    output.on('close', () => this.close());
    output.on('error', () => this.close());
    input.on('error', () => this.close());
  }

  /**
   * Whether the browser at the other end is gone. Every call in progress has then ended, and later calls are rejected.
   */
  get closed(): boolean {
    return this.#closed;
  }

  send(message: object): void {
    if (this.#closed) throw new Error('The browser is gone.');
    this.#input.write(`${JSON.stringify(message)}\0`);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(0); end !== -1; end = rest.indexOf(0)) {
      const text = Buffer.concat([...this.#unfinished, rest.subarray(0, end)]).toString();
      this.#unfinished = [];
      rest = rest.subarray(end + 1);
      this.onmessage?.(JSON.parse(text) as object);
    }
    if (rest.length > 0) this.#unfinished.push(rest);
  }
}
