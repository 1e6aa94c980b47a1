import type { Node } from '../../platform/http/openapi/document.ts';
import type { Field } from '../../platform/pages/page.ts';

/** The most levels of nested fields and examples. */
const MAX_DEPTH = 5;
const INSTANT = '2026-01-31T12:00:00.000Z';

/** Describes schemas of the OpenAPI document for readers. It follows references. */
export class SchemaReader {
  readonly #schemas: Record<string, Node>;

  constructor(document: Node) {
    this.#schemas = (document.components as { schemas: Record<string, Node> }).schemas;
  }

  /** The type of a value in a few words, such as "integer 1 to 9". */
  typeOf(schema: Node): string {
    const { type, enum: words, const: word, minimum, maximum, contentMediaType } = this.#resolved(schema);
    const choices = this.#choicesOf(schema);
    if (choices.length > 1) return [...new Set(choices.map((schema) => this.typeOf(schema)))].join(' or ');
    if (word !== undefined) return JSON.stringify(word);
    if (Array.isArray(words)) return words.join(', ');
    if (contentMediaType !== undefined) return 'bytes';
    if (minimum === undefined && maximum === undefined) return String(type ?? 'any');
    return `${type} ${minimum ?? '…'} to ${maximum ?? '…'}`;
  }

  /** Each field within it, by its path. */
  fieldsOf(schema: Node, at = '', depth = 0): Field[] {
    if (depth > MAX_DEPTH) return [];
    const fields = this.#choicesOf(schema).flatMap((choice): Field[] => {
      if (choice.type === 'array') return this.fieldsOf((choice.items ?? {}) as Node, `${at}[]`, depth + 1);
      const required = (choice.required ?? []) as string[];
      return Object.entries((choice.properties ?? {}) as Record<string, Node>).flatMap(([name, field]) => {
        const path = at === '' ? name : `${at}.${name}`;
        const { description = '' } = this.#resolved(field);
        return [
          {
            name: path,
            takes: this.typeOf(field),
            ...(!required.includes(name) && { note: 'optional' }),
            description: String(description),
          },
          ...this.fieldsOf(field, path, depth + 1),
        ];
      });
    });
    return [...new Map(fields.map((field) => [JSON.stringify(field), field])).values()];
  }

  /** A valid value: the schema's own example if it has one. */
  exampleOf(schema: Node, depth = 0): unknown {
    const target = this.#resolved(schema);
    const [example] = (target.examples ?? []) as unknown[];
    const [choice = target] = this.#choicesOf(target);
    const { type, enum: words, const: word, default: fallback } = choice;
    const value = example ?? word ?? fallback ?? (words as unknown[] | undefined)?.[0];
    if (value !== undefined) return value;
    if (choice !== target && choice.examples !== undefined) return (choice.examples as unknown[])[0];
    switch (Array.isArray(type) ? type[0] : type) {
      case 'object':
        return this.#objectOf(choice, depth);
      case 'array':
        return depth > MAX_DEPTH && choice.minItems === undefined
          ? []
          : [this.exampleOf((choice.items ?? {}) as Node, depth + 1)];
      case 'integer':
      case 'number':
        return choice.minimum ?? 1;
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return choice.format === 'date-time' ? INSTANT : '…';
    }
  }

  #resolved(schema: Node): Node {
    const { $ref, ...siblings } = schema as { $ref?: string };
    return $ref === undefined ? schema : { ...this.#schemas[$ref.split('/').at(-1) ?? ''], ...siblings };
  }

  /** The alternatives of a schema, or the schema itself if it has none. */
  #choicesOf(schema: Node): Node[] {
    const { oneOf, anyOf } = this.#resolved(schema);
    const choices = (oneOf ?? anyOf) as Node[] | undefined;
    return choices === undefined ? [this.#resolved(schema)] : choices.map((schema) => this.#resolved(schema));
  }

  /** Examples contain optional fields as well, up to this depth. */
  #objectOf({ properties = {}, required = [] }: Node, depth: number): object {
    const names = Object.entries(properties as Record<string, Node>).filter(
      ([name]) => depth < MAX_DEPTH || (required as string[]).includes(name),
    );
    return Object.fromEntries(names.map(([name, field]) => [name, this.exampleOf(field, depth + 1)]));
  }
}
