import { chmod, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { CommandAnswer, CommandContext } from './command.ts';
import { runCommand } from './commands.ts';

/** The Unix socket in the data directory through which commands reach the primary that holds the embedded stores. */
export function socketPath(dataDir: string): string {
  return join(dataDir, 'admin.sock');
}

type Reply = { answer: CommandAnswer } | { error: string };

/** Serves commands until closed. The socket is readable by the server's own user alone: who opens it is the operator. */
export async function openAdminSocket(
  dataDir: string,
  context: CommandContext,
): Promise<{ close(): Promise<void> }> {
  const path = socketPath(dataDir);
  await rm(path, { force: true });
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    void serve(socket, context);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return {
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** One JSON list of words in, one JSON reply out. */
async function serve(socket: Socket, context: CommandContext): Promise<void> {
  const reply = await replyTo(socket, context);
  socket.end(JSON.stringify(reply));
}

async function replyTo(socket: Socket, context: CommandContext): Promise<Reply> {
  try {
    return { answer: await runCommand(JSON.parse(await text(socket)), context) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

/**
 * Asks the running primary.
 * @returns null when none runs on this data directory.
 * @throws Error with the primary's sentence.
 */
export async function askPrimary(dataDir: string, words: readonly string[]): Promise<CommandAnswer | null> {
  const socket = createConnection(socketPath(dataDir));
  const connected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  if (!connected) return null;
  socket.end(JSON.stringify(words));
  const reply = JSON.parse(await text(socket)) as Reply;
  if ('error' in reply) throw new Error(reply.error);
  return reply.answer;
}
