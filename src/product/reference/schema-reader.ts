import { countPhrase } from '../../platform/http/errors/violations.ts';
import type { DocumentNode } from '../../platform/http/openapi/document.ts';
import type { DocumentedField } from '../../platform/pages/page.ts';

/** The most levels of nested fields and examples. */
const MAX_DEPTH = 5;
const INSTANT = '2026-01-31T12:00:00.000Z';

/** Describes schemas of the OpenAPI document for readers. It follows references. */
export class SchemaReader {
  readonly #schemas: Record<string, DocumentNode>;

  constructor(document: DocumentNode) {
    this.#schemas = (document.components as { schemas: Record<string, DocumentNode> }).schemas;
  }

  /** The type of a value in a few words, such as "integer 1 to 9". */
  typeOf(schema: DocumentNode): string {
    const resolved = this.#resolved(schema);
    const { type, enum: words, const: word, contentMediaType } = resolved;
    const choices = this.#choicesOf(schema);
    if (choices.length > 1) return [...new Set(choices.map((schema) => this.typeOf(schema)))].join(' or ');
    if (word !== undefined) return JSON.stringify(word);
    if (Array.isArray(words)) return words.join(', ');
    if (contentMediaType !== undefined) return 'bytes';
    return `${type ?? 'any'}${boundsOf(resolved)}`;
  }

  /** Each field within it, by its path. */
  fieldsOf(schema: DocumentNode, at = '', depth = 0): DocumentedField[] {
    if (depth > MAX_DEPTH) return [];
    const fields = this.#choicesOf(schema).flatMap((choice): DocumentedField[] => {
      if (choice.type === 'array')
        return this.fieldsOf((choice.items ?? {}) as DocumentNode, `${at}[]`, depth + 1);
      const required = (choice.required ?? []) as string[];
      return Object.entries((choice.properties ?? {}) as Record<string, DocumentNode>).flatMap(
        ([name, field]) => {
          const path = at === '' ? name : `${at}.${name}`;
          const { description = '', default: fallback } = this.#resolved(field);
          return [
            {
              name: path,
              takes: this.typeOf(field),
              ...(!required.includes(name) && { note: 'optional' }),
              ...(fallback !== undefined && { fallback: textOf(fallback) }),
              description: String(description),
            },
            ...this.fieldsOf(field, path, depth + 1),
          ];
        },
      );
    });
    return [...new Map(fields.map((field) => [JSON.stringify(field), field])).values()];
  }

  /** A valid value: the schema's own example if it has one. */
  exampleOf(schema: DocumentNode, depth = 0): unknown {
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
          : [this.exampleOf((choice.items ?? {}) as DocumentNode, depth + 1)];
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

  #resolved(schema: DocumentNode): DocumentNode {
    const { $ref, ...siblings } = schema as { $ref?: string };
    return $ref === undefined ? schema : { ...this.#schemas[$ref.split('/').at(-1) ?? ''], ...siblings };
  }

  /**
   * The alternatives of a schema, or the schema itself if it has none: those of an object with fields only say which of
   * these go together.
   */
  #choicesOf(schema: DocumentNode): DocumentNode[] {
    const own = this.#resolved(schema);
    const choices = (own.oneOf ?? own.anyOf) as DocumentNode[] | undefined;
    if (choices === undefined || own.properties !== undefined) return [own];
    return choices.map((choice) => this.#resolved(choice));
  }

  /** An example object. It contains optional fields too, up to this depth. */
  #objectOf({ properties = {}, required = [] }: DocumentNode, depth: number): object {
    const names = Object.entries(properties as Record<string, DocumentNode>).filter(
      ([name]) => depth < MAX_DEPTH || (required as string[]).includes(name),
    );
    return Object.fromEntries(names.map(([name, field]) => [name, this.exampleOf(field, depth + 1)]));
  }
}

/** ` 1 to 9`, ` of at most 200 characters`; nothing for a value without bounds. */
function boundsOf({ minimum, maximum, minLength, maxLength, minItems, maxItems }: Bounds): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  if (minimum !== undefined || maximum !== undefined) return countPhrase(minimum, maximum, '').trimEnd();
  const ofText = countPhrase(minLength, maxLength, 'characters');
  return ofText === '' ? countPhrase(minItems, maxItems, 'entries') : ofText;
}

type Bounds = { [name in `${'min' | 'max'}${'imum' | 'Length' | 'Items'}`]?: number };

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
