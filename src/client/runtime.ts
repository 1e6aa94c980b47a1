/** The part of Node's `process` that is used where it exists: in Node, Deno and Bun, and not in browsers. */
interface Runtime {
  env?: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => unknown;
}

/**
 * The parts of Node's modules that are used. They are declared here, so that the client compiles without Node's types.
 */
interface Builtins {
  'node:fs': { openAsBlob(path: string): Promise<Blob> };
  'node:fs/promises': {
    rename(path: string, to: string): Promise<void>;
    rm(path: string, options: { force: boolean }): Promise<void>;
    writeFile(path: string, data: ReadableStream<Uint8Array> | Uint8Array): Promise<void>;
  };
}

const { process: runtime } = globalThis as { process?: Runtime };

/** A variable of the environment; undefined for one that is empty or does not exist. */
export function environmentVariable(name: string): string | undefined {
  return runtime?.env?.[name] || undefined;
}

/**
 * A module of Node, loaded so that bundlers for browsers do not look for it.
 * @throws TypeError if the runtime has no such module.
 */
export function nodeModule<N extends keyof Builtins>(name: N): Builtins[N] {
  const found = runtime?.getBuiltinModule?.(name);
  if (found === undefined)
    throw new TypeError(`${name} is needed: use Node 20.16 or later, Deno 2.1 or Bun.`);
  return found as Builtins[N];
}
