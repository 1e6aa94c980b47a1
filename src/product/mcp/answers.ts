import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { asApiError } from '../../platform/http/errors/failures.ts';
import { ServiceCallError, type ServiceError } from './public-interface.ts';
import type { ToolResult } from './tool.ts';

/** The MCP result of a tool: pictures as separate blocks, and everything else both as text and as data. */
export function toolResultAnswer({ structured, text, pictures = [] }: ToolResult): CallToolResult {
  const shown = pictures.map(
    ({ data, mimeType }): ContentBlock => ({ type: 'image', data: data.toString('base64'), mimeType }),
  );
  return {
    content: [...shown, { type: 'text', text: text ?? JSON.stringify(structured) }],
    structuredContent: structured,
  };
}

/** The MCP result of a failed tool call: the API error, with the tool's argument as its param. */
export function toolErrorOf(thrown: unknown): CallToolResult {
  const error = withArgument(errorOf(thrown));
  return {
    isError: true,
    content: [{ type: 'text', text: JSON.stringify(error) }],
    structuredContent: { error },
  };
}

/** Whether an error is a fault of the tools themselves, and neither of the call nor of the service. */
export function isToolFault(thrown: unknown): boolean {
  return !(thrown instanceof ServiceCallError || thrown instanceof ApiError);
}

function errorOf(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceCallError) return thrown.error;
  const { code, message, param, retryable, details, retryAfterSeconds } = asApiError(thrown);
  return { code, message, param, retryable, details, retryAfterSeconds };
}

/** The arguments of the tools, by the API parameter that they become. */
const ARGUMENTS: Readonly<Record<string, string>> = {
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

function withArgument({ param, ...error }: ServiceError): ServiceError {
  return { ...error, ...(param !== undefined && { param: ARGUMENTS[param] ?? param }) };
}
