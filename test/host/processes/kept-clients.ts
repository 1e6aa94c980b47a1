import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { WholeService } from '../../support/whole-service.ts';

/** A process that ends closes a connection that was idle for so long: src/platform/http/connection/closing.ts. */
const IDLE_GRACE_MS = 1_000;
/** A body takes so long: calls are under way all the time, and leave the cores to processes that start. */
const BODY_MS = 300;
const MAX_CALLS = 20_000;

export interface KeptClients {
  answered: number;
  /** What failed that was not expected: `status 503`, `broken: ECONNRESET`, `connect: ECONNREFUSED`. */
  failed: string[];
  stop(): Promise<void>;
}

/**
 * Clients that keep one connection each, and send their next call as soon as they have the answer to the one before,
 * until they are stopped or nothing listens any more.
 */
export function startClients(
  service: WholeService,
  count: number,
  call: { body: Buffer; width: number },
  isExpected: (fault: string) => boolean = () => false,
): KeptClients {
  const state: KeptClients = { answered: 0, failed: [], stop };
  let isStopped = false;

  async function client(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let sentMs = performance.now();
    for (let calls = 0; calls < MAX_CALLS && !isStopped; calls += 1) {
      const beforeMs = sentMs;
      sentMs = performance.now();
      const fault = await transform(service, call, agent);
      // On a busy machine this process may be held up between an answer and its next call until the connection is
      // closed as idle. HTTP allows that; such a call is sent again.
      const wasHeldUp = performance.now() - beforeMs >= IDLE_GRACE_MS;
      if (fault === null) state.answered += 1;
      else if (!isExpected(fault) && !(fault.startsWith('broken') && wasHeldUp)) state.failed.push(fault);
      if (fault?.startsWith('connect')) break;
    }
    agent.destroy();
  }

  const running = Promise.all(Array.from({ length: count }, client));
  async function stop(): Promise<void> {
    isStopped = true;
    await running;
  }
  return state;
}

/**
 * Makes a picture smaller, which is sent slowly, over a connection of its own unless an agent keeps one.
 * @returns the fault, or null.
 */
export function transform(
  { url, key }: WholeService,
  { body, width }: { body: Buffer; width: number },
  agent: Agent | false = false,
): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `ApiKey ${key}`,
      'content-type': 'image/jpeg',
      'content-length': body.length,
    };
    const path = `${url}/api/v1/images/transform?op=resize&width=${width}`;
    const broke = ({ code, message }: NodeJS.ErrnoException) =>
      resolve(`${code === 'ECONNREFUSED' ? 'connect' : 'broken'}: ${code ?? message}`);
    const call = request(path, { agent, method: 'POST', headers }, (response) => {
      const { statusCode } = response;
      text(response).then(
        (bytes) => resolve(statusCode === 200 && bytes.length > 0 ? null : `status ${statusCode}`),
        broke,
      );
    });
    call.on('error', broke);
    call.write(body.subarray(0, body.length / 2));
    setTimeout(() => call.end(body.subarray(body.length / 2)), BODY_MS);
  });
}
