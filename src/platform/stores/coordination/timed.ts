import type { StoreTimeout } from '../store-timeout.ts';
import type { Coordination } from './port.ts';

/** Not asked of the store, or as long as it takes. */
const UNTIMED = new Set<string | symbol>(['subscribe', 'observe', 'close']);

/** The same coordination, whose every step is waited for with timeout. */
export function timedCoordination(coordination: Coordination, timeout: StoreTimeout): Coordination {
  return new Proxy(coordination, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || UNTIMED.has(name)) return method;
      return (...args: unknown[]) => timeout.run(() => method.apply(target, args));
    },
  });
}
