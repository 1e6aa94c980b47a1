import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { serve } from '../support/loopback.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const rightAnswer: Answer = (response) => {
  response.setHeader('content-type', 'application/json');
  response.end('{}');
};

/** The ways in which a service or a proxy fails a call. */
export const FAULTS = {
  close: (response) => response.socket?.destroy(),
  reset: (response) => response.socket?.resetAndDestroy(),
  truncate: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data":', () => response.socket?.destroy());
  },
  truncateChunked: (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"data":', () => response.socket?.destroy());
  },
  hang: () => undefined,
  hangInBody: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"data":');
  },
  rotate: (response, request) => {
    response.setHeader('connection', 'close');
    rightAnswer(response, request);
  },
  refuse: (response) => {
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end('{"error":{"code":"provider_unavailable","details":{"reason":"capacity"}}}');
  },
  page: (response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<h1>login</h1>');
  },
} satisfies Record<string, Answer>;

export interface FaultServer {
  url: string;
  /** Calls that arrived. */
  received(): number;
  /** Calls that got the fault. */
  faults(): number;
}

/** A server that gives every fifth call a fault, and says when it has done so a few times. */
export async function serveFaults(
  t: Test,
  { fault, enough, onEnough }: { fault: keyof typeof FAULTS; enough: number; onEnough: () => void },
): Promise<FaultServer> {
  let received = 0;
  let faults = 0;
  const { url } = await serve(t, (request, response) => {
    received += 1;
    if (received % 5 !== 0) return rightAnswer(response, request);
    faults += 1;
    FAULTS[fault](response, request);
    if (faults === enough) onEnough();
  });
  return { url, received: () => received, faults: () => faults };
}

export interface PacedServer {
  url: string;
  received(): number;
  /** Answers from now on at the pace of the worker. */
  go(): void;
}

/** A server with one worker, which answers one call per turn of the event loop, and none before it is let go. */
export async function servePaced(
  t: Test,
  { enough, onEnough }: { enough: number; onEnough: () => void },
): Promise<PacedServer> {
  const waiting: Array<() => void> = [];
  let received = 0;
  const { url } = await serve(t, (request, response) => {
    received += 1;
    waiting.push(() => rightAnswer(response, request));
    if (received === enough) onEnough();
  });
  const work = () => {
    waiting.shift()?.();
    setImmediate(work).unref();
  };
  return { url, received: () => received, go: work };
}
