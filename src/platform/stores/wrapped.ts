/** Work around one call of a method, such as a measurement: it runs the step and returns the step's answer. */
export type Around = (step: () => unknown) => unknown;

/**
 * Wraps each method of a port.
 * @param aroundOf called once for each method, with its name.
 */
export function wrapped<P extends object>(port: P, aroundOf: (method: string) => Around): P {
  const wrapping = Object.create(port) as Record<string, unknown>;
  for (const name of methodsOf(port)) {
    const around = aroundOf(name);
    const call = (words: unknown[]) => (Reflect.get(port, name) as Method).apply(port, words);
    wrapping[name] = (...words: unknown[]) => around(() => call(words));
  }
  return wrapping as P;
}

type Method = (...words: unknown[]) => unknown;

/** The names of a port's methods, including those of its class. */
function methodsOf(port: object): string[] {
  const names: string[] = [];
  for (let at: object = port; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    names.push(...Object.getOwnPropertyNames(at));
  return names.filter((name) => name !== 'constructor' && typeof Reflect.get(port, name) === 'function');
}
