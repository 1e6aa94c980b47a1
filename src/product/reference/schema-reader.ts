import { countPhrase } from '../../platform/http/errors/violations.ts';
import type { DocumentNode } from '../../platform/http/openapi/document.ts';
import type { DocumentedField } from '../../platform/pages/page.ts';

/** The maximum depth of nested fields and of examples. */
const MAX_SCHEMA_DEPTH = 5;
const EXAMPLE_INSTANT = '2026-01-31T12:00:00.000Z';

/** Describes schemas of the OpenAPI document for readers. References between schemas are followed. */
export class SchemaReader {
  readonly #schemas: Record<string, DocumentNode>;

  constructor(document: DocumentNode) {
    this.#schemas = (document.components as { schemas: Record<string, DocumentNode> }).schemas;
  }

  /** The type of a value in a few words, such as "integer 1 to 9". */
  typeOf(schema: DocumentNode): string {
    const resolved = this.#resolve(schema);
    const { type, enum: words, const: word, contentMediaType } = resolved;
    const alternatives = this.#alternativesOf(schema);
    if (alternatives.length > 1)
      return [...new Set(alternatives.map((schema) => this.typeOf(schema)))].join(' or ');
    if (word !== undefined) return JSON.stringify(word);
    if (Array.isArray(words)) return words.join(', ');
    if (contentMediaType !== undefined) return 'bytes';
    return `${type ?? 'any'}${boundsText(resolved)}`;
  }

  /** The fields within a schema. Each is named by its path, such as `items[].status`. */
  fieldsOf(schema: DocumentNode, at = '', depth = 0): DocumentedField[] {
    if (depth > MAX_SCHEMA_DEPTH) return [];
    const fields = this.#alternativesOf(schema).flatMap((alternative): DocumentedField[] => {
      if (alternative.type === 'array')
        return this.fieldsOf((alternative.items ?? {}) as DocumentNode, `${at}[]`, depth + 1);
      const required = (alternative.required ?? []) as string[];
      return Object.entries((alternative.properties ?? {}) as Record<string, DocumentNode>).flatMap(
        ([name, field]) => {
          const path = at === '' ? name : `${at}.${name}`;
          const { description = '', default: fallback } = this.#resolve(field);
          return [
            {
              name: path,
              takes: this.typeOf(field),
              ...(!required.includes(name) && { note: 'optional' }),
              ...(fallback !== undefined && { fallback: valueText(fallback) }),
              description: String(description),
            },
            ...this.fieldsOf(field, path, depth + 1),
          ];
        },
      );
    });
    return [...new Map(fields.map((field) => [JSON.stringify(field), field])).values()];
  }

  /** A valid value for a schema: the schema's own example, if it has one. */
  exampleOf(schema: DocumentNode, depth = 0): unknown {
    const target = this.#resolve(schema);
    const [example] = (target.examples ?? []) as unknown[];
    const [alternative = target] = this.#alternativesOf(target);
    const { type, enum: words, const: word, default: fallback } = alternative;
    const value = example ?? word ?? fallback ?? (words as unknown[] | undefined)?.[0];
    if (value !== undefined) return value;
    if (alternative !== target && alternative.examples !== undefined)
      return (alternative.examples as unknown[])[0];
    switch (Array.isArray(type) ? type[0] : type) {
      case 'object':
        return this.#exampleObject(alternative, depth);
      case 'array':
        return depth > MAX_SCHEMA_DEPTH && alternative.minItems === undefined
          ? []
          : [this.exampleOf((alternative.items ?? {}) as DocumentNode, depth + 1)];
      case 'integer':
      case 'number':
        return alternative.minimum ?? 1;
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return alternative.format === 'date-time' ? EXAMPLE_INSTANT : '…';
    }
  }

  #resolve(schema: DocumentNode): DocumentNode {
    const { $ref, ...siblings } = schema as { $ref?: string };
    return $ref === undefined ? schema : { ...this.#schemas[$ref.split('/').at(-1) ?? ''], ...siblings };
  }

  /**
   * The alternatives of a schema; without alternatives, the schema itself. An object with fields also counts as a
   * single alternative, because its `oneOf` or `anyOf` only says which fields belong together.
   */
  #alternativesOf(schema: DocumentNode): DocumentNode[] {
    const own = this.#resolve(schema);
    const alternatives = (own.oneOf ?? own.anyOf) as DocumentNode[] | undefined;
    if (alternatives === undefined || own.properties !== undefined) return [own];
    return alternatives.map((alternative) => this.#resolve(alternative));
  }

  /** An example of an object. At the maximum depth, optional fields are left out. */
  #exampleObject({ properties = {}, required = [] }: DocumentNode, depth: number): object {
    const names = Object.entries(properties as Record<string, DocumentNode>).filter(
      ([name]) => depth < MAX_SCHEMA_DEPTH || (required as string[]).includes(name),
    );
    return Object.fromEntries(names.map(([name, field]) => [name, this.exampleOf(field, depth + 1)]));
  }
}

/** The bounds of a value as text, such as ` 1 to 9` or ` of at most 200 characters`; empty if there are none. */
function boundsText({ minimum, maximum, minLength, maxLength, minItems, maxItems }: SchemaBounds): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  if (minimum !== undefined || maximum !== undefined) return countPhrase(minimum, maximum, '').trimEnd();
  const ofText = countPhrase(minLength, maxLength, 'characters');
  return ofText === '' ? countPhrase(minItems, maxItems, 'entries') : ofText;
}

type SchemaBounds = { [name in `${'min' | 'max'}${'imum' | 'Length' | 'Items'}`]?: number };

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
