import {
  type CallToolResult,
  type ContentBlock,
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from '@modelcontextprotocol/server';
import packageJson from '../../../package.json' with { type: 'json' };
import { DarkroomError, type DarkroomErrorInit } from '../../client/errors.ts';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { asApiError } from '../../platform/http/errors/failures.ts';
import { likelyNames, meantWordHint } from '../../platform/ids/nearest.ts';
import { isJsonObject, parseJsonOrUndefined } from '../../platform/values/json.ts';
import { findOp } from '../catalogue/index.ts';
import type { InputSource } from './inputs.ts';
import { MCP_INSTRUCTIONS, MCP_PROMPTS, readMcpPrompt } from './prompts.ts';
import { MCP_RESOURCE_TEMPLATES, MCP_RESOURCES, readMcpResource } from './resources.ts';
import type { Tool, ToolDefinition, ToolResult } from './tool.ts';
import { compareTool } from './tools/compare.ts';
import { factsTool } from './tools/facts.ts';
import { jobTool } from './tools/job.ts';
import { lookTool } from './tools/look.ts';
import { opsTool } from './tools/ops.ts';
import { presetsTool } from './tools/presets.ts';
import { renderTool } from './tools/render.ts';
import { runTool } from './tools/run.ts';
import { ticketTool } from './tools/ticket.ts';

/**
 * The Model Context Protocol around the tools, in two revisions: 2025-11-25, and 2026-07-28, which has no handshake.
 * This file and the SDK are loaded with the first message; loading them earlier would make the start of the service a
 * tenth longer.
 */

/** What the tools of one caller need from the process. */
interface ToolHost {
  /**
   * The input source for one tool call.
   * @param signal aborts when nobody waits for the tool any more.
   */
  sourceFor(signal: AbortSignal): InputSource;
  /** Logs a fault of the tools. The caller sees it as internal_error. */
  report(fault: unknown): void;
}

type ToolError = Omit<DarkroomErrorInit, 'status' | 'cause'>;

/** Every tool, grouped by task. The order must stay the same, because hosts and models cache the list. */
export const TOOLS: readonly Tool[] = [
  opsTool,
  runTool,
  lookTool,
  factsTool,
  compareTool,
  renderTool,
  jobTool,
  presetsTool,
  ticketTool,
];

const toolsByName = new Map(TOOLS.map((tool) => [tool.definition.name, tool]));
/**
 * How long clients may cache lists and pages. Lists and pages are the same for all callers, and change only with a
 * release.
 */
const CACHE_HINT = { ttlMs: 3_600_000, cacheScope: 'public' } as const;

export function createToolServer(host: ToolHost): Server {
  const server = new Server(
    { name: 'darkroom', title: 'Darkroom', version: packageJson.version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: MCP_INSTRUCTIONS,
      cacheHints: {
        'tools/list': CACHE_HINT,
        'resources/list': CACHE_HINT,
        'resources/templates/list': CACHE_HINT,
        'resources/read': CACHE_HINT,
        'prompts/list': CACHE_HINT,
      },
    },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map(({ definition }) => listedTool(definition)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) => {
    const tool = toolsByName.get(params.name);
    if (tool === undefined) throw unknownToolError(params.name);
    using source = host.sourceFor(signal);
    try {
      return toolResultMessage(await tool.call(params.arguments ?? {}, source));
    } catch (error) {
      signal.throwIfAborted();
      if (isToolFault(error)) host.report(error);
      return toolErrorMessage(error);
    }
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...MCP_RESOURCES] }));
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...MCP_RESOURCE_TEMPLATES],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq: { signal } }) => {
    using source = host.sourceFor(signal);
    return await readMcpResource(uri, source.service);
  });
  server.setRequestHandler('prompts/list', () => ({ prompts: [...MCP_PROMPTS] }));
  server.setRequestHandler('prompts/get', ({ params }) => readMcpPrompt(params.name, params.arguments));
  return server;
}

/**
 * Answers one message that arrived over HTTP. There are no sessions: any process can answer any message.
 * @param request the request without its body.
 * @param message the parsed body. Undefined if its Content-Type is not JSON; the response then says so.
 */
export async function answerMessage(request: Request, message: unknown, host: ToolHost): Promise<Response> {
  // The list of tools never changes while the service runs. Subscriptions are therefore refused, so that no stream must
  // be held open.
  if (isJsonObject(message) && message.method === 'subscriptions/listen')
    return unknownMethodResponse(message.id);
  const wrong = isJsonObject(message) ? invalidArgumentsResponse(message) : undefined;
  if (wrong !== undefined) return wrong;
  const handler = createMcpHandler(() => createToolServer(host));
  return handler.fetch(request, message === undefined ? {} : { parsedBody: message });
}

/**
 * The response to arguments that are not an object, with the change that corrects them. Without it, the SDK would
 * refuse the message with a text of its own.
 */
function invalidArgumentsResponse({ id, method, params }: Record<string, unknown>): Response | undefined {
  const sent = isJsonObject(params) ? params.arguments : undefined;
  if (method !== 'tools/call' || sent === undefined || isJsonObject(sent)) return undefined;
  const param = 'arguments';
  const meant = typeof sent === 'string' ? parseJsonOrUndefined(sent) : Array.isArray(sent) ? sent[0] : sent;
  const fix = isJsonObject(meant)
    ? [{ param, replace: meant }]
    : sent === null
      ? [{ param, remove: true }]
      : undefined;
  const message = `arguments must be an object of the arguments by their names${fix === undefined ? '' : ': see data.fix'}.`;
  const error = { code: ProtocolErrorCode.InvalidParams, message, data: { param, ...(fix && { fix }) } };
  return Response.json({ jsonrpc: '2.0', id: id ?? null, error });
}

function listedTool({ inputSchema, outputSchema, ...definition }: ToolDefinition) {
  return { ...definition, inputSchema: { ...inputSchema }, outputSchema: { ...outputSchema } };
}

function unknownMethodResponse(id: unknown): Response {
  const error = { code: ProtocolErrorCode.MethodNotFound, message: 'Method not found' };
  return Response.json({ jsonrpc: '2.0', id: id ?? null, error }, { status: 404 });
}

function unknownToolError(name: string): ProtocolError {
  const allowed = [...toolsByName.keys()];
  // Some clients put the name of the server before that of the tool.
  const own = name.replace(/^.*darkroom[_.:/-]+/i, '');
  const op = findOp(own);
  const likely = likelyNames(own, allowed);
  const suggest = op !== undefined && likely.length === 0 ? [op.runs === 'model' ? 'job' : 'run'] : likely;
  const message = `There is no tool ${JSON.stringify(name.slice(0, 100))}: the tools are ${allowed.join(', ')}.${meantWordHint(suggest)}`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, { param: 'name', allowed, suggest });
}

/** The MCP result of a tool. Each picture is a block; everything else is included both as text and as data. */
function toolResultMessage({ structured, text, pictures = [] }: ToolResult): CallToolResult {
  const pictureBlocks = pictures.map(
    ({ data, mimeType }): ContentBlock => ({ type: 'image', data: data.toString('base64'), mimeType }),
  );
  return {
    content: [...pictureBlocks, { type: 'text', text: text ?? JSON.stringify(structured) }],
    structuredContent: structured,
  };
}

/**
 * The MCP result of a failed tool call: the API error. Its `param` is the argument of the tool instead of the API's
 * parameter.
 */
function toolErrorMessage(thrown: unknown): CallToolResult {
  const error = withArgumentName(toolErrorOf(thrown));
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(error) }],
    structuredContent: { error },
  };
}

/** Whether an error is a bug of the tools themselves, rather than a fault of the call or of the service. */
function isToolFault(thrown: unknown): boolean {
  return !(thrown instanceof DarkroomError || thrown instanceof ApiError);
}

/** The error in the result of a tool: the one of the API call that failed, or one of the tool itself. */
function toolErrorOf(thrown: unknown): ToolError {
  if (!(thrown instanceof DarkroomError)) {
    const { code, message, param, retryable, details, retryAfterSeconds } = asApiError(thrown);
    return { code, message, param, retryable, details, retryAfterSeconds };
  }
  const { code, message, param, retryable, details, requestId, docUrl, retryAfterSeconds } = thrown;
  return {
    ...{ code, message, param, retryable },
    ...(Object.keys(details).length > 0 && { details }),
    ...{ requestId, retryAfterSeconds },
    ...(docUrl !== undefined && { docUrl: new URL(docUrl).pathname }),
  };
}

/** The names of tool arguments, by the API parameter to which they correspond. */
const TOOL_ARGUMENT_BY_PARAMETER: Readonly<Record<string, string>> = {
  assetId: 'input',
  url: 'input',
  file: 'input',
  otherAssetId: 'other',
  otherUrl: 'other',
  assetIds: 'inputs',
  jobId: 'id',
  slug: 'preset',
  presetId: 'preset',
  templateId: 'template',
  'Idempotency-Key': 'key',
};

function withArgumentName({ param, ...error }: ToolError): ToolError {
  return { ...error, ...(param !== undefined && { param: TOOL_ARGUMENT_BY_PARAMETER[param] ?? param }) };
}
