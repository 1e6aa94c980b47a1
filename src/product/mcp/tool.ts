import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { ApiError } from '../../platform/http/errors/errors.ts';
import { withProvenFix } from '../../platform/http/errors/fix.ts';
import { createValidator } from '../../platform/http/errors/validation.ts';
import type { InputSource } from './inputs.ts';

/**
 * The schema of an object with any fields. It is as short as possible, because every conversation contains the schemas
 * of all tools.
 */
export const AnyObjectSchema = Type.Unsafe<object>({ type: 'object' });

export interface ToolResult {
  /** The result as data, in the form of the tool's output schema. */
  structured: Record<string, unknown>;
  /** The same result as text, if there is a shorter form than JSON. */
  text?: string;
  pictures?: readonly ToolPicture[];
}

export interface ToolPicture {
  data: Buffer;
  mimeType: string;
}

/** A tool as the protocol lists it. */
export interface ToolDefinition {
  name: string;
  title: string;
  /** The purpose of the tool, in at most 40 words. */
  description: string;
  inputSchema: TObject;
  outputSchema: TObject;
  annotations: {
    readOnlyHint: boolean;
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint: boolean;
  };
}

interface ToolDeclaration<Input extends TProperties>
  extends Omit<ToolDefinition, 'inputSchema' | 'outputSchema'> {
  /** The arguments. A call with any other argument is refused. */
  input: Input;
  /**
   * The fields of the output. All are optional, because clients also check the output of a failed call against them.
   */
  output: TProperties;
  run(args: Static<TObject<Input>>, source: InputSource): Promise<ToolResult>;
}

/** A tool: its definition, and the work that it does through the public API. */
export interface Tool {
  definition: ToolDefinition;
  /**
   * @param args the arguments as they were sent.
   * @throws ApiError invalid_param on an argument; DarkroomError.
   */
  call(args: unknown, source: InputSource): Promise<ToolResult>;
}

export function defineTool<Input extends TProperties>(declared: ToolDeclaration<Input>): Tool {
  const { name, title, description, annotations, input, output, run } = declared;
  const argumentsSchema = Type.Object(input, { additionalProperties: false });
  const inputSchema = listedSchemaOf(argumentsSchema as TObject);
  const outputSchema = Type.Partial(Type.Object(output));
  const check = createValidator(argumentsSchema, 'arguments');
  return {
    definition: { name, title, description, inputSchema, outputSchema, annotations },
    call: async (args, source) => run(await parseToolArguments(args, check), source),
  };
}

/** The schema of a tool in the list of tools. Keywords that only help to correct arguments are left out. */
function listedSchemaOf(input: TObject): TObject {
  return JSON.parse(JSON.stringify(input, (key, value) => (key === 'within' ? undefined : value)));
}

/**
 * Checks the arguments of a tool against its schema. Whether an asset or a URL in them exists is checked later, by the
 * API calls of the tool.
 * @throws ApiError invalid_param. Its corrections make the arguments pass this check.
 */
async function parseToolArguments<T>(args: unknown, check: (args: unknown) => T): Promise<T> {
  try {
    return check(args);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const call = { query: {}, body: args, isForm: false };
    throw await withProvenFix(error, call, async ({ body }) => {
      check(body);
    });
  }
}
