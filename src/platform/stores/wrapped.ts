import type { Documents } from './documents/port.ts';

/** Work around one call of a method, such as a measurement: it runs the step and returns the step's answer. */
export type Around = (step: () => unknown) => unknown;

/**
 * Wraps each method of a port.
 * @param aroundOf called once for each method, with its name.
 */
export function wrapped<P extends object>(port: P, aroundOf: (method: string) => Around): P {
  const wrapping: Record<string, unknown> = {};
  for (const name in port) {
    const around = aroundOf(name);
    wrapping[name] = (...args: unknown[]) => around(() => (port[name] as Method)(...args));
  }
  return wrapping as P;
}

/** Wraps each method of documents and of their collections. */
export function wrappedDocuments(documents: Documents, aroundOf: (method: string) => Around): Documents {
  return {
    ...wrapped(documents, aroundOf),
    collection: async (spec) => wrapped(await documents.collection(spec), aroundOf),
  };
}

type Method = (...args: unknown[]) => unknown;
