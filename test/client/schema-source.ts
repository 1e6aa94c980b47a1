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
const PREFIX = '/api/v1';
const JSON_TYPE = 'application/json';
const MAX_LINE = 116;
/** Components of the calls that answer bytes, and of failures. */
const ROOTS = ['ErrorCode', 'ImageEstimate', 'RenderRequest', 'ResultLink'];
/** A component with fewer fields is no base of another. */
const MIN_INHERITED = 8;
/** The components that describe one op of a transform, and one parameter that ops share. */
const OP_COMPONENT = /^Transform_(\w+)$/;
const SHARED_COMPONENT = /^Pass_(\w+)$/;
const REFERENCE = /^#\/components\/schemas\/(.+)$/;

/** The types of the client, as TypeScript: the ops, the calls that take and answer JSON, and what they refer to. */
export function schemaSource(document: Document): string {
  return new SchemaSource(document).text();
}

class SchemaSource {
  readonly #document: Document;
  /** The components that the types refer to, in the order in which they were met. */
  readonly #named = new Set<string>();

  constructor(document: Document) {
    this.#document = document;
  }

  text(): string {
    const parts = [this.#ops(), this.#events(), this.#calls()];
    for (const name of ROOTS) this.#named.add(name);
    // A component may refer to others, which join the set while it is iterated.
    const named = Array.from(this.#named, (name) => [name, this.#component(name)] as const);
    const components = named.sort(([one], [other]) => (one < other ? -1 : 1)).map(([, text]) => text);
    return [HEAD, ...parts, ...components].join('\n');
  }

  #component(name: string): string {
    const schema = this.#document.components.schemas[name] ?? {};
    if (schema.properties === undefined) return `export type ${name} = ${this.#type(schema, '')};\n`;
    const base = this.#baseOf(name, schema);
    if (base === undefined) return `export interface ${name} ${this.#type(schema, '')}\n`;
    const inherited = Object.keys(propertiesOf(this.#document.components.schemas[base]));
    const own = Object.entries(propertiesOf(schema)).filter(([field]) => !inherited.includes(field));
    const type = this.#type({ ...schema, properties: Object.fromEntries(own) }, '');
    return `export interface ${name} extends ${this.#reference(base)} ${type}\n`;
  }

  /** The largest component all of whose fields another one has too, as JobSummary for Job. */
  #baseOf(name: string, schema: Node): string | undefined {
    const contract = (one: Node | undefined, field: string) =>
      JSON.stringify([propertiesOf(one)[field], ((one?.required ?? []) as string[]).includes(field)]);
    const candidates = Object.entries(this.#document.components.schemas).filter(([other, base]) => {
      const fields = Object.keys(propertiesOf(base));
      const isPart =
        fields.length >= MIN_INHERITED && fields.length < Object.keys(propertiesOf(schema)).length;
      return (
        isPart && other !== name && fields.every((field) => contract(base, field) === contract(schema, field))
      );
    });
    const sizes = candidates.map(([other, base]) => [other, Object.keys(propertiesOf(base)).length] as const);
    return sizes.sort(([, one], [, other]) => other - one)[0]?.[0];
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
    const fields = this.#fields(own, (parameters.required ?? []) as string[], '    ');
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

  /** The calls that take and answer JSON, by their method and path. */
  #calls(): string {
    const lines = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => {
        // PATCH is another name of PUT.
        if (!path.startsWith(`${PREFIX}/`) || method === 'patch' || answersBytes(operation)) return [];
        const name = `${method.toUpperCase()} ${path.slice(PREFIX.length)}`;
        return [`  '${name}': {\n${this.#call(operation)}  };\n`];
      }),
    );
    return `/** The calls that take and answer JSON, by their method and path. */\nexport interface Calls {\n${lines.join('')}}\n`;
  }

  #call({ parameters = [], requestBody, responses }: Operation): string {
    const path = parameters.filter((one) => one.in === 'path').map(({ name }) => `${name}: string`);
    const query = parameters.filter((one) => one.in === 'query');
    const schemas = query.map(({ name, schema, description }) => [name, { description, ...schema }]);
    const required = query.filter((one) => one.required).map(({ name }) => name);
    const sent = requestBody?.content[JSON_TYPE]?.schema;
    const data = new Set<string>();
    for (const [status, { content }] of Object.entries(responses)) {
      if (!status.startsWith('2')) continue;
      const envelope = propertiesOf(content?.[JSON_TYPE]?.schema);
      data.add(envelope.data === undefined ? 'undefined' : this.#type(envelope.data, '    '));
      if (envelope.meta !== undefined) this.#named.add('ListMeta');
    }
    return [
      ...(path.length > 0 ? [`    path: { ${path.join('; ')} };\n`] : []),
      ...(query.length > 0
        ? [`    query: {\n${this.#fields(Object.fromEntries(schemas), required, '      ')}    };\n`]
        : []),
      ...(sent === undefined ? [] : [`    body: ${this.#type(sent, '    ')};\n`]),
      `    data: ${[...data].join(' | ')};\n`,
    ].join('');
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
      const required = (schema.required ?? []) as string[];
      return `{\n${this.#fields(propertiesOf(schema), required, `${indent}  `)}${indent}}`;
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

function propertiesOf(schema: Node | undefined): Record<string, Node> {
  return (schema?.properties ?? {}) as Record<string, Node>;
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

/** Whether the answer of a call may be something else than JSON. */
function answersBytes({ responses }: Operation): boolean {
  return Object.entries(responses).some(
    ([status, { content = {} }]) =>
      status.startsWith('2') && Object.keys(content).some((type) => type !== JSON_TYPE),
  );
}
