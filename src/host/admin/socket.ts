import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { listenToAttempts, type TailedAttempt } from '../../product/webhooks/deliveries/tail.ts';
import type { CommandContext, CommandResult, StoresCommandContext } from './command.ts';
import { runCommand } from './commands.ts';

/** The Unix socket in the data directory through which commands reach the primary that holds the embedded stores. */
export function adminSocketPath(dataDir: string): string {
  return join(dataDir, 'admin.sock');
}

const KEEP_ALIVE_INTERVAL_MS = 5_000;

/**
 * A line of a reply. That to a command ends with the answer or the error; a listener gets attempts until it
 * disconnects.
 */
type ReplyLine =
  | { progress: string }
  | { answer: CommandResult }
  | { attempt: TailedAttempt }
  | { error: string };

/**
 * Serves commands until it is closed. Only the server's own user can open the socket, and counts as the operator.
 *
 * @param onAcceptError called when a connection cannot be accepted, such as for lack of file descriptors. Only that
 *   command fails.
 */
export async function openAdminSocket(
  dataDir: string,
  context: StoresCommandContext,
  onAcceptError: (error: Error) => void,
): Promise<{ close(): Promise<void> }> {
  const path = adminSocketPath(dataDir);
  await rm(path, { force: true });
  /** The connections that stream webhook attempts. They never end by themselves, so `close` has to end them. */
  const listeners = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    void serveConnection(socket, context, listeners);
  });
  server.listen(path);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EINVAL') throw error;
    throw new Error(
      `The path of the socket ${path} is too long for this system: give DATA_DIR a shorter path.`,
      {
        cause: error,
      },
    );
  });
  server.on('error', onAcceptError);
  await chmod(path, 0o600);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of listeners) socket.destroy();
      }),
  };
}

/** Who gave a command, and where. */
type CommandOrigin = Pick<CommandContext, 'by' | 'folder'>;

/**
 * A request on the socket: to run one command for the person in `by`, or to stream the attempts of a webhook endpoint.
 */
type AdminRequest = ({ words: readonly string[] } & CommandOrigin) | { listenTo: string };

/** Serves one request, which is JSON. */
async function serveConnection(
  socket: Socket,
  context: StoresCommandContext,
  listeners: Set<Socket>,
): Promise<void> {
  const write = (line: ReplyLine) => socket.write(`${JSON.stringify(line)}\n`);
  try {
    const request = JSON.parse(await text(socket)) as AdminRequest;
    if ('listenTo' in request) {
      listeners.add(socket.once('close', () => listeners.delete(socket)));
      await streamAttempts(socket, context, request.listenTo);
    } else {
      const { words, ...origin } = request;
      const onProgress = (progress: string) => void write({ progress });
      write({ answer: await runCommand(words, { ...context, ...origin, onProgress }) });
      socket.end();
    }
  } catch (error) {
    write({ error: (error as Error).message });
    socket.end();
  }
}

/** Streams delivery attempts until the client disconnects. */
async function streamAttempts(
  socket: Socket,
  context: StoresCommandContext,
  endpointId: string,
): Promise<void> {
  const unsubscribe = await listenToAttempts(context, endpointId, (attempt) => {
    socket.write(`${JSON.stringify({ attempt } satisfies ReplyLine)}\n`);
  });
  // An empty line is written regularly, because only a write notices that the client has disconnected.
  const keepAlive = setInterval(() => socket.write('\n'), KEEP_ALIVE_INTERVAL_MS);
  const stop = () => {
    clearInterval(keepAlive);
    unsubscribe();
  };
  socket.once('close', stop);
  if (socket.destroyed) stop();
}

/**
 * Sends a command to the running primary.
 * @returns null when no primary runs on this data directory.
 * @throws Error with the message of the primary.
 */
export async function askPrimary(
  dataDir: string,
  words: readonly string[],
  { by, folder, onProgress }: CommandOrigin & Pick<CommandContext, 'onProgress'>,
): Promise<CommandResult | null> {
  const socket = await connectToPrimary(dataDir);
  if (socket === null) return null;
  for await (const reply of readReplies(socket, { words, by, folder })) {
    if ('answer' in reply) return reply.answer;
    if ('progress' in reply) onProgress(reply.progress);
  }
  throw new Error('The service ended before it answered: ask again, and look at its log.');
}

/**
 * Receives the delivery attempts to a webhook endpoint from the running primary, until the primary stops.
 * @returns false when no primary runs on this data directory.
 * @throws Error with the message of the primary.
 */
export async function listenThroughPrimary(
  dataDir: string,
  endpointId: string,
  onAttempt: (attempt: TailedAttempt) => void,
): Promise<boolean> {
  const socket = await connectToPrimary(dataDir);
  if (socket === null) return false;
  for await (const reply of readReplies(socket, { listenTo: endpointId }))
    if ('attempt' in reply) onAttempt(reply.attempt);
  return true;
}

/**
 * Sends a request, and reads the lines of its reply.
 * @throws Error with the message of the primary.
 */
async function* readReplies(socket: Socket, request: AdminRequest) {
  socket.end(JSON.stringify(request));
  for await (const line of createInterface({ input: socket })) {
    if (line === '') continue;
    const reply = JSON.parse(line) as ReplyLine;
    if ('error' in reply) throw new Error(reply.error);
    yield reply;
  }
}

/**
 * Connects to the socket; null when no service listens. The connection is half open: the request ends before the
 * response begins.
 * @throws Error with one sentence when this user may not connect.
 */
async function connectToPrimary(dataDir: string): Promise<Socket | null> {
  const socket = createConnection({ path: adminSocketPath(dataDir), allowHalfOpen: true });
  try {
    await once(socket, 'connect');
    return socket;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return null;
    throw new Error(
      `This user may not read DATA_DIR (${resolve(dataDir)}): run the command as the user of the service.`,
      { cause: error },
    );
  }
}
