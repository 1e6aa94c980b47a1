import { Counter } from 'prom-client';

export interface ConnectionMeter {
  /** A connection was closed with an answer, to have its client connect to another process. */
  released(): void;
}

export function createConnectionMeter(): ConnectionMeter {
  const released = new Counter({
    name: 'darkroom_connections_released_total',
    help: 'Kept connections that were closed with an answer, so that a less busy process takes the next calls of their clients.',
  });
  return { released: () => released.inc() };
}
