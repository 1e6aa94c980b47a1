import type { DocumentStore } from './documents/port.ts';

/** Work around one call of a method, such as a measurement: it runs the step and returns the step's answer. */
export type Interceptor = (step: () => unknown) => unknown;

/**
 * Wraps each method of a port.
 * @param aroundOf called once for each method, with its name.
 */
export function wrapMethods<P extends object>(port: P, aroundOf: (method: string) => Interceptor): P {
  const wrapping: Record<string, unknown> = {};
  const methods = port as Record<string, Method>;
  for (const name of methodNames(port)) {
    const around = aroundOf(name);
    wrapping[name] = (...args: unknown[]) => around(() => methods[name]?.(...args));
  }
  return wrapping as P;
}

/** The names of the methods of an object: its own, and those of its class. */
function methodNames(port: object): string[] {
  const ofClass: object = Object.getPrototypeOf(port);
  const inherited = ofClass === Object.prototype ? [] : Object.getOwnPropertyNames(ofClass);
  return [...Object.keys(port), ...inherited.filter((name) => name !== 'constructor')];
}

/** Wraps each method of documents and of their collections. */
export function wrapDocuments(
  documents: DocumentStore,
  aroundOf: (method: string) => Interceptor,
): DocumentStore {
  return {
    ...wrapMethods(documents, aroundOf),
    collection: async (spec) => wrapMethods(await documents.collection(spec), aroundOf),
  };
}

type Method = (...args: unknown[]) => unknown;
