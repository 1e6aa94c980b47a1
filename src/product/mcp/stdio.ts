import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { InputSource } from './inputs.ts';
import { UploadedFiles } from './local-files.ts';
import { type RemoteService, sendOverHttp } from './over-http.ts';
import { createToolServer } from './protocol.ts';
import { PublicInterface } from './public-interface.ts';

interface Streams {
  stdin: Readable;
  stdout: Writable;
  /** Receives faults of the tools, because the output carries protocol messages only. */
  stderr: Writable;
}

/**
 * Serves the tools over standard input and output, for a host that starts this process. The tools call a service over
 * HTTP, and read files of this machine.
 * @returns a function that ends the connection.
 */
export function serveToolsOverStdio(remote: RemoteService, streams: Streams = process): () => Promise<void> {
  const send = sendOverHttp(remote);
  const files = new UploadedFiles();
  const sourceFor = (signal: AbortSignal): InputSource => ({
    service: new PublicInterface(send, signal),
    files,
    [Symbol.dispose]: () => undefined,
  });
  const report = (fault: unknown) =>
    streams.stderr.write(`${fault instanceof Error ? fault.stack : String(fault)}\n`);
  const server = serveStdio(() => createToolServer({ sourceFor, report }), {
    transport: new StdioServerTransport(streams.stdin, streams.stdout),
    maxSubscriptions: 0,
  });
  return () => server.close();
}
