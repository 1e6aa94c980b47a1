/** A part of an OpenAPI document as plain JSON. */
type Node = { [key: string]: unknown };

interface Operation {
  parameters?: Array<{ name: string; in: string; required?: boolean; schema: Node; description?: string }>;
  requestBody?: { content: Record<string, { schema: Node }> };
  responses: Record<string, { content?: Record<string, { schema: Node }> }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Node> };
}

const HEAD = `/**
 * The types of the interface, generated from the OpenAPI document of the service: npm run client:types. It is one
 * file of any length, because nobody edits it: a reader looks names up in it.
 */
`;
const OPERATOR_HEAD = `/**
 * The types of the operator's interface, generated from the OpenAPI document of the service: npm run client:types.
 */
`;
const PREFIX = '/api/v1';
const OPERATOR_PREFIX = '/operator/v1';
const JSON_TYPE = 'application/json';
const MAX_LINE = 116;
/** The longest type of an object on one line, within a line of MAX_LINE. */
const MAX_SHORT_TYPE = 84;
/** Components of the calls that answer bytes, and of failures. */
const ROOTS = ['ErrorCode', 'ImageEstimate', 'OutputEstimates', 'RenderRequest', 'ResultLink'];
/** A component with fewer fields is no base of another. */
const MIN_INHERITED = 2;
/** The parameters of a query by which a list is read page by page. */
const PAGING = ['page', 'perPage', 'cursor'];
/** The components that describe one op of a transform, and one parameter that ops share. */
const OP_COMPONENT = /^Transform_(\w+)$/;
const SHARED_COMPONENT = /^Pass_(\w+)$/;
const REFERENCE = /^#\/components\/schemas\/(.+)$/;

/** The types of the client, as TypeScript: the ops, the calls that take and answer JSON, and what they refer to. */
export function schemaSource(document: Document): string {
  return new SchemaSource(document).text();
}

/** The types of the operator's calls, and what they refer to. */
export function operatorSchemaSource(document: Document): string {
  return new SchemaSource(document).operatorText();
}

/** A component whose fields another one has too. */
interface Base {
  name: string;
  fields: readonly string[];
  /** Whether the other one requires none of them. */
  isPartial: boolean;
}

class SchemaSource {
  readonly #document: Document;
  /** The components that the types refer to, in the order in which they were met. */
  readonly #named = new Set<string>();

  constructor(document: Document) {
    this.#document = document;
  }

  text(): string {
    const parts = [this.#ops(), this.#events(), this.#callsOfAccounts()];
    for (const name of ROOTS) this.#named.add(name);
    return [HEAD, ...parts, ...this.#components()].join('\n');
  }

  operatorText(): string {
    const { calls } = this.#calls(OPERATOR_PREFIX);
    const interfaceText = `/** The calls of the operator, by their method and path. */\nexport interface OperatorCalls {\n${calls}}\n`;
    return [OPERATOR_HEAD, interfaceText, ...this.#components()].join('\n');
  }

  /** Every component that the types refer to, by name. */
  #components(): string[] {
    // A component may refer to others, which join the set while it is iterated.
    const named = Array.from(this.#named, (name) => [name, this.#component(name)] as const);
    return named.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
  }

  #component(name: string): string {
    const schema = this.#document.components.schemas[name] ?? {};
    if (schema.properties === undefined) return `export type ${name} = ${this.#type(schema, '')};\n`;
    const base = this.#baseOf(name, schema);
    if (base === undefined) return `export interface ${name} ${this.#type(schema, '')}\n`;
    const reference = this.#reference(base.name);
    const type = base.isPartial ? `Partial<${reference}>` : reference;
    const own = Object.entries(propertiesOf(schema)).filter(([field]) => !base.fields.includes(field));
    if (own.length === 0) return `export type ${name} = ${type};\n`;
    const rest = this.#type({ ...schema, properties: Object.fromEntries(own) }, '');
    return `export interface ${name} extends ${type} ${rest}\n`;
  }

  /** The largest component all of whose fields another one has too, as JobSummary for Job and Asset for Uploaded. */
  #baseOf(name: string, schema: Node): Base | undefined {
    const all = propertiesOf(schema);
    const required = requiredOf(schema);
    const bases = Object.entries(this.#document.components.schemas).flatMap(([other, base]): Base[] => {
      const fields = Object.keys(propertiesOf(base));
      const isPart = fields.every(
        (field) => JSON.stringify(propertiesOf(base)[field]) === JSON.stringify(all[field]),
      );
      if (other === name || fields.length < MIN_INHERITED || !isPart) return [];
      const isSame = fields.every((field) => requiredOf(base).includes(field) === required.includes(field));
      const isPartial = !isSame && !fields.some((field) => required.includes(field));
      // Of two with the same contract, neither is the base of the other.
      const isBase = isPartial || (isSame && fields.length < Object.keys(all).length);
      return isBase ? [{ name: other, fields, isPartial }] : [];
    });
    return bases.sort((one, other) => other.fields.length - one.fields.length)[0];
  }

  /** The parameters of each op that runs while the caller waits; those that most ops have stand together. */
  #ops(): string {
    const schemas = Object.entries(this.#document.components.schemas);
    const shared = schemas.flatMap(([name, schema]) => {
      const [, parameter] = SHARED_COMPONENT.exec(name) ?? [];
      return parameter === undefined ? [] : [[parameter, schema] as const];
    });
    const sharedNames = shared.map(([name]) => name);
    const ops = schemas.flatMap(([name, schema]) => {
      const [, op] = OP_COMPONENT.exec(name) ?? [];
      const { parameters } = propertiesOf(schema);
      return op === undefined || parameters === undefined ? [] : [this.#op(op, parameters, sharedNames)];
    });
    const common = this.#fields(Object.fromEntries(shared), [], '  ');
    return [
      '/** Parameters that most ops take. */',
      `export interface PassParameters {\n${common}}`,
      '',
      '/** The parameters of each op that runs while the caller waits. */',
      `export interface Ops {\n${ops.join('')}}`,
      '',
    ].join('\n');
  }

  #op(op: string, parameters: Node, shared: readonly string[]): string {
    const all = Object.entries(propertiesOf(parameters));
    const isShared = ([, { $ref }]: [string, Node]) => SHARED_COMPONENT.test(nameIn($ref));
    const taken = all.filter(isShared).map(([name]) => name);
    const own = Object.fromEntries(all.filter((one) => !isShared(one)));
    const missing = shared.filter((name) => !taken.includes(name)).map((name) => `'${name}'`);
    const common = missing.length === 0 ? 'PassParameters' : `Omit<PassParameters, ${missing.join(' | ')}>`;
    const fields = this.#fields(own, requiredOf(parameters), '    ');
    const type = [...(taken.length > 0 ? [common] : []), ...(fields === '' ? [] : [`{\n${fields}  }`])];
    return `  ${op}: ${type.join(' & ') || 'Record<never, never>'};\n`;
  }

  /** The bodies that a webhook endpoint receives. */
  #events(): string {
    const bodies = Object.values(this.#document.webhooks).map(({ post }) =>
      this.#type(post.requestBody?.content[JSON_TYPE]?.schema ?? {}, ''),
    );
    return `/** What a webhook endpoint receives. */\nexport type WebhookEvent = ${bodies.join(' | ')};\n`;
  }

  #callsOfAccounts(): string {
    const { calls, paging } = this.#calls(PREFIX);
    return [
      '/** The query of a list that is read page by page. */',
      `export interface Paging {\n${paging}}`,
      '',
      '/** The calls that take and answer JSON, by their method and path. */',
      `export interface Calls {\n${calls}}\n`,
    ].join('\n');
  }

  /**
   * The calls below a prefix that take and answer JSON, by their method and path; a call on one line where it fits.
   * @returns `paging`: the fields by which lists are read page by page.
   */
  #calls(prefix: string): { calls: string; paging: string } {
    let paging = '';
    const lines = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        // PATCH is another name of PUT.
        if (!path.startsWith(`${prefix}/`) || method === 'patch' || !answersEnvelope(operation)) return [];
        const name = `${method.toUpperCase()} ${path.slice(prefix.length)}`;
        const query = queryOf(operation);
        if (isPaged(query)) paging ||= this.#fields(picked(query, PAGING), [], '  ');
        const parts = this.#call(operation, query);
        const line = `  '${name}': { ${parts.join('; ')} };\n`;
        if (line.length <= MAX_LINE && !line.slice(0, -1).includes('\n')) return [line];
        return [`  '${name}': {\n${parts.map((part) => `    ${part};\n`).join('')}  };\n`];
      }),
    );
    return { calls: lines.join(''), paging };
  }

  /** The parts of a call, such as `path: { jobId: string }`. */
  #call({ parameters = [], requestBody, responses }: Operation, query: Record<string, Node>): string[] {
    const path = parameters.filter((one) => one.in === 'path').map(({ name }) => `${name}: string`);
    const required = parameters.flatMap(({ name, required }) => (required ? [name] : []));
    const own = Object.keys(query).filter((name) => !isPaged(query) || !PAGING.includes(name));
    const fields = this.#fields(picked(query, own), required, '      ');
    const types = [...(isPaged(query) ? ['Paging'] : []), ...(own.length > 0 ? [`{\n${fields}    }`] : [])];
    const sent = requestBody?.content[JSON_TYPE]?.schema;
    const data = new Set<string>();
    for (const [status, { content }] of Object.entries(responses)) {
      if (!status.startsWith('2')) continue;
      const envelope = propertiesOf(content?.[JSON_TYPE]?.schema);
      data.add(envelope.data === undefined ? 'undefined' : this.#type(envelope.data, '    '));
      if (envelope.meta !== undefined) this.#named.add('ListMeta');
    }
    return [
      ...(path.length > 0 ? [`path: { ${path.join('; ')} }`] : []),
      ...(types.length > 0 ? [`query: ${types.join(' & ')}`] : []),
      ...(sent === undefined ? [] : [`body: ${this.#type(sent, '    ')}`]),
      `data: ${[...data].join(' | ')}`,
    ];
  }

  #type(schema: Node, indent: string): string {
    const { $ref, type, enum: values, items, properties, additionalProperties: others } = schema;
    const alternatives = (schema.anyOf ?? (properties === undefined ? schema.oneOf : undefined)) as
      | Node[]
      | undefined;
    if (typeof $ref === 'string') return this.#reference(nameIn($ref));
    if ('const' in schema) return JSON.stringify(schema.const);
    if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
    if (alternatives !== undefined)
      return [...new Set(alternatives.map((one) => this.#type({ type, ...one }, indent)))].join(' | ');
    if (Array.isArray(type))
      return type.map((one) => this.#type({ ...schema, type: one }, indent)).join(' | ');
    if (type === 'integer' || type === 'number') return 'number';
    if (type === 'string' || type === 'boolean' || type === 'null') return type;
    if (type === 'array') return this.#list(items as Node | undefined, indent);
    if (properties !== undefined) {
      const fields = this.#fields(propertiesOf(schema), requiredOf(schema), `${indent}  `);
      return (indent === '' ? undefined : onOneLine(fields)) ?? `{\n${fields}${indent}}`;
    }
    if (type !== 'object') return 'unknown';
    return `Record<string, ${typeof others === 'object' ? this.#type(others as Node, indent) : 'unknown'}>`;
  }

  #list(items: Node | undefined, indent: string): string {
    const row = this.#type(items ?? {}, indent);
    return / [|&] /.test(row) ? `(${row})[]` : `${row}[]`;
  }

  #reference(name: string): string {
    this.#named.add(name);
    return name;
  }

  #fields(properties: Record<string, Node>, required: readonly string[], indent: string): string {
    const fields = Object.entries(properties).map(([name, schema]) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`;
      const type = 'not' in schema ? 'never' : this.#type(schema, indent);
      const optional = required.includes(name) ? '' : '?';
      return `${comment(schema.description, indent)}${indent}${key}${optional}: ${type};\n`;
    });
    return fields.join('');
  }
}

/** The type of an object on one line, if its fields are few and none has a comment or fields of its own. */
function onOneLine(fields: string): string | undefined {
  const short = `{ ${fields.trim().replace(/;\n */g, '; ').replace(/;$/, '')} }`;
  return short.includes('\n') || short.includes('/**') || short.length > MAX_SHORT_TYPE ? undefined : short;
}

function propertiesOf(schema: Node | undefined): Record<string, Node> {
  return (schema?.properties ?? {}) as Record<string, Node>;
}

function requiredOf(schema: Node | undefined): readonly string[] {
  return (schema?.required ?? []) as string[];
}

/** The parameters of a query, by their names. */
function queryOf({ parameters = [] }: Operation): Record<string, Node> {
  const query = parameters.filter((one) => one.in === 'query');
  return Object.fromEntries(query.map(({ name, schema, description }) => [name, { description, ...schema }]));
}

function isPaged(query: Record<string, Node>): boolean {
  return PAGING.every((name) => name in query);
}

function picked(fields: Record<string, Node>, names: readonly string[]): Record<string, Node> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name)));
}

function nameIn(reference: unknown): string {
  const [, name = ''] = REFERENCE.exec(String(reference)) ?? [];
  return name;
}

/** A description as a comment, broken into lines. */
function comment(description: unknown, indent: string): string {
  if (typeof description !== 'string' || description === '') return '';
  const words = description.replaceAll('*/', '* /').split(/\s+/);
  const short = `${indent}/** ${words.join(' ')} */\n`;
  if (short.length <= MAX_LINE) return short;
  const lines = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (`${indent} * ${last} ${word}`.length > MAX_LINE) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

/** Whether every answer of a call is an envelope of JSON, or nothing. */
function answersEnvelope({ responses }: Operation): boolean {
  return Object.entries(responses).every(
    ([status, { content = {} }]) =>
      !status.startsWith('2') ||
      Object.entries(content).every(
        ([type, { schema }]) => type === JSON_TYPE && 'data' in propertiesOf(schema),
      ),
  );
}
