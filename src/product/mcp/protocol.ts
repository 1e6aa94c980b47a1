import { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import packageJson from '../../../package.json' with { type: 'json' };
import { answerOf, failureOf, isFault } from './answers.ts';
import type { InputSource } from './inputs.ts';
import { INSTRUCTIONS } from './instructions.ts';
import type { ToolDefinition } from './tool.ts';
import { TOOLS } from './tools/index.ts';

/**
 * The protocol over the tools, for clients of both revisions: 2025-11-25, and 2026-07-28, which has no handshake. Only
 * this file and stdio.ts load the SDK; the service loads it with the first message, because it takes as long as a tenth
 * of a start.
 */

/** What the tools of one caller work with. */
export interface ToolHost {
  /** @param signal aborts when nobody waits for the tool any more. */
  sourceFor(signal: AbortSignal): InputSource;
  /** Logs a fault of the tools, which the caller sees as internal_error. */
  report(fault: unknown): void;
}

const byName = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));
/** The list is the same for every caller until the service is updated. */
const LIST_LIFE_MS = 3_600_000;

/** A server of the protocol for one caller. */
export function createToolServer(host: ToolHost): Server {
  const server = new Server(
    { name: 'darkroom', title: 'Darkroom', version: packageJson.version },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': { ttlMs: LIST_LIFE_MS, cacheScope: 'public' } },
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map(({ definition }) => listed(definition)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) => {
    const tool = byName.get(params.name);
    if (tool === undefined) throw unknownTool(params.name);
    using source = host.sourceFor(signal);
    try {
      return answerOf(await tool.call(params.arguments ?? {}, source));
    } catch (error) {
      signal.throwIfAborted();
      if (isFault(error)) host.report(error);
      return failureOf(error);
    }
  });
  return server;
}

/**
 * Answers one message that came over HTTP. There are no sessions: each message is complete, and any process answers it.
 * @param request without a body.
 * @param message its parsed body; undefined if its Content-Type is not JSON, which the answer says.
 */
export function answerMessage(request: Request, message: unknown, host: ToolHost): Promise<Response> {
  const handler = createMcpHandler(() => createToolServer(host), {
    // Nothing that a client could subscribe to ever changes, so no stream is held open for it.
    maxSubscriptions: 0,
  });
  return handler.fetch(request, message === undefined ? {} : { parsedBody: message });
}

function listed({ inputSchema, outputSchema, ...definition }: ToolDefinition) {
  return { ...definition, inputSchema: { ...inputSchema }, outputSchema: { ...outputSchema } };
}

function unknownTool(name: string): ProtocolError {
  const message = `There is no tool ${JSON.stringify(name.slice(0, 100))}: the tools are ${[...byName.keys()].join(', ')}.`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
