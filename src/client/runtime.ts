/** The clock of a client. Tests use one that does not really wait. */
export interface Clock {
  /** The current time, in milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds. If the signal aborts first, rejects with its reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of the computer. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
};

/** The parts of Node's `process` that the client uses. They exist in Node, Deno and Bun, but not in browsers. */
interface NodeProcess {
  env?: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => unknown;
}

/**
 * The parts of Node's modules that the client uses. They are declared here, so that the client compiles without Node's
 * types.
 */
interface NodeModules {
  'node:fs': { openAsBlob(path: string): Promise<Blob> };
  'node:fs/promises': {
    rename(path: string, to: string): Promise<void>;
    rm(path: string, options: { force: boolean }): Promise<void>;
    writeFile(path: string, data: ReadableStream<Uint8Array> | Uint8Array): Promise<void>;
  };
}

const { process: runtime } = globalThis as { process?: NodeProcess };

/** The value of an environment variable; undefined if it is empty or not set. */
export function environmentVariable(name: string): string | undefined {
  return runtime?.env?.[name] || undefined;
}

/**
 * Loads a module of Node in a way that bundlers for browsers do not follow.
 * @throws TypeError if the runtime has no such module.
 */
export function nodeModule<N extends keyof NodeModules>(name: N): NodeModules[N] {
  const found = runtime?.getBuiltinModule?.(name);
  if (found === undefined)
    throw new TypeError(`${name} is needed: use Node 20.16 or later, Deno 2.1 or Bun.`);
  return found as NodeModules[N];
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  tif: 'image/tiff',
  tiff: 'image/tiff',
  svg: 'image/svg+xml',
};

/**
 * Opens a file as an image to send (Node, Deno, Bun). The file is read from the disk while it is sent, and again for
 * each retry. Its name is sent as well.
 */
export async function openFile(path: string): Promise<File> {
  const blob = await nodeModule('node:fs').openAsBlob(path);
  const name = path.split(/[\\/]/).at(-1) ?? path;
  return new File([blob], name, { type: imageMediaTypeOfName(name) ?? '' });
}

/** The media type of an image by the extension of its name; undefined for any other extension. */
export function imageMediaTypeOfName(name: string): string | undefined {
  return MEDIA_TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''];
}
