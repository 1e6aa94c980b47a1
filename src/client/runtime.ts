/** The clock of a client. Tests pass one that does not wait. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds, or rejects with the reason of the signal when the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of the machine. */
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

/** The part of Node's `process` that is used where it exists: in Node, Deno and Bun, and not in browsers. */
interface NodeProcess {
  env?: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => unknown;
}

/**
 * The parts of Node's modules that are used. They are declared here, so that the client compiles without Node's types.
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

/** A variable of the environment; undefined for one that is empty or does not exist. */
export function environmentVariable(name: string): string | undefined {
  return runtime?.env?.[name] || undefined;
}

/**
 * A module of Node, loaded so that bundlers for browsers do not look for it.
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
 * Opens a file as an image to send (Node, Deno, Bun). It is read from the disk while it is sent, and again for a retry.
 * Its name is sent too.
 */
export async function openFile(path: string): Promise<File> {
  const blob = await nodeModule('node:fs').openAsBlob(path);
  const name = path.split(/[\\/]/).at(-1) ?? path;
  return new File([blob], name, { type: imageMediaTypeOfName(name) ?? '' });
}

/** The media type for the file extension of an image; undefined for any other name. */
export function imageMediaTypeOfName(name: string): string | undefined {
  return MEDIA_TYPES[name.split('.').at(-1)?.toLowerCase() ?? ''];
}
