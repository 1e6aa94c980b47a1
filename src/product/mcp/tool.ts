import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox';
import { createValidator } from '../../platform/http/errors/validation.ts';
import type { InputSource } from './inputs.ts';

/**
 * An object with any fields, for the schemas of tools. It is short, because every conversation begins with these
 * schemas.
 */
export const AnyObjectSchema = Type.Unsafe<object>({ type: 'object' });

export interface ToolResult {
  /** The result as data, in the form of the tool's output schema. */
  structured: Record<string, unknown>;
  /** The same result as text, if JSON is not its shortest form. */
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
  /** At most 40 words. */
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
  /** The arguments. Others are refused. */
  input: Input;
  /** The fields of the output. All are optional, because clients check the output of a failed call by them too. */
  output: TProperties;
  run(args: Static<TObject<Input>>, source: InputSource): Promise<ToolResult>;
}

/** A tool: its definition, and the work that it does through the public API. */
export class Tool {
  readonly definition: ToolDefinition;
  /**
   * @param args the arguments as they were sent.
   * @throws ApiError invalid_param on an argument; ServiceCallError.
   */
  readonly call: (args: unknown, source: InputSource) => Promise<ToolResult>;

  private constructor(definition: ToolDefinition, call: Tool['call']) {
    this.definition = definition;
    this.call = call;
  }

  static of<Input extends TProperties>({ input, output, run, ...listed }: ToolDeclaration<Input>): Tool {
    const { name, title, description, annotations } = listed;
    const inputSchema = Type.Object(input, { additionalProperties: false });
    const outputSchema = Type.Partial(Type.Object(output));
    const schemas = { inputSchema: inputSchema as TObject, outputSchema };
    const definition = { name, title, description, ...schemas, annotations };
    const check = createValidator(inputSchema, 'arguments');
    return new Tool(definition, async (args, source) => run(check(args), source));
  }
}
