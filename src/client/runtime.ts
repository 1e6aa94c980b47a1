/** The part of Node's `process` that is used where it exists: in Node, Deno and Bun, and not in browsers. */
interface Runtime {
  env?: Record<string, string | undefined>;
  getBuiltinModule?: (name: string) => unknown;
}

interface Builtins {
  'node:fs': typeof import('node:fs');
  'node:fs/promises': typeof import('node:fs/promises');
}

const { process: runtime } = globalThis as { process?: Runtime };

/** A variable of the environment; undefined for one that is empty or does not exist. */
export function fromEnvironment(name: string): string | undefined {
  return runtime?.env?.[name] || undefined;
}

/** A module of Node, which bundlers for browsers do not look for. @throws TypeError where there is none. */
export function builtin<N extends keyof Builtins>(name: N): Builtins[N] {
  const found = runtime?.getBuiltinModule?.(name);
  if (found === undefined)
    throw new TypeError(`${name} is needed: use Node 20.16 or later, Deno 2.1 or Bun.`);
  return found as Builtins[N];
}
