import { createServer as createPlainServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { LOOPBACK_CERTIFICATE, LOOPBACK_KEY } from './certificate.ts';

/** The receiver's observations since the last report. */
export interface ReceiverReport {
  /** Milliseconds from each outcome to the arrival of its first attempt, on the shared clock of this machine. */
  delaysMs: number[];
  /** Number of repeated attempts for an event that had already arrived. */
  repeated: number;
}

/**
 * A receiver in a separate process, which answers 200 to every request. Paths that begin with /hang are never answered.
 */
const seen = new Set<string>();
let report: ReceiverReport = { delaysMs: [], repeated: 0 };

const listener: RequestListener = async (request, response) => {
  const arrivedMs = Date.now();
  if (request.url?.startsWith('/hang')) return;
  const { id, createdAt } = JSON.parse(Buffer.concat(await request.toArray()).toString());
  const key = `${request.url}/${id}`;
  if (seen.has(key)) report.repeated += 1;
  else report.delaysMs.push(arrivedMs - Date.parse(createdAt));
  seen.add(key);
  response.end();
};

const isTls = process.argv.includes('tls');
const server = isTls
  ? createTlsServer({ cert: LOOPBACK_CERTIFICATE, key: LOOPBACK_KEY }, listener)
  : createPlainServer(listener);
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  const { port } = server.address() as AddressInfo;
  process.send?.(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`);
});
process.on('message', () => {
  process.send?.(report);
  report = { delaysMs: [], repeated: 0 };
});
process.on('disconnect', () => process.exit());
