import type { OpParameter, TemplateData } from '../../../../client/schema.ts';
import type { FormValues } from '../parts/correcting.ts';

export type TemplateVariable = TemplateData['variables'][number];

/** The form fields for the variables of a template. */
export function parametersOfVariables(variables: readonly TemplateVariable[]): Record<string, OpParameter> {
  return Object.fromEntries(
    variables.map((variable) => {
      const { name, optional = false } = typeof variable === 'string' ? { name: variable } : variable;
      return [name, { type: 'string', description: optional ? 'It may be empty.' : '' }];
    }),
  );
}

/**
 * An example row, in which the value of each variable is its name. The drawing then shows where each variable appears.
 */
export function exampleRowFor(variables: readonly TemplateVariable[]): FormValues {
  const names = variables.map((variable) => (typeof variable === 'string' ? variable : variable.name));
  return Object.fromEntries(
    names
      .filter((name) => !/image|photo|logo|color|colour|accent|url|src/i.test(name))
      .map((name) => [name, exampleTextFor(name)]),
  );
}

function exampleTextFor(name: string): string {
  const words = name
    .replaceAll(/[_.]/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Makes a row of data from the fields of a form. The field `author.name` becomes `name` within the object `author`. */
export function rowOfFormValues(values: FormValues): Record<string, unknown> {
  const row = emptyObject();
  for (const [path, value] of Object.entries(values)) {
    const names = path.split('.');
    const last = names.pop() ?? path;
    let at = row;
    for (const name of names) {
      const inner = typeof at[name] === 'object' ? at[name] : emptyObject();
      at[name] = inner;
      at = inner as Record<string, unknown>;
    }
    at[last] = value;
  }
  return row;
}

/** Makes the fields of a form from a row of data: the reverse of `rowOfFormValues`. */
export function formValuesOfRow(row: Readonly<Record<string, unknown>>): FormValues {
  const fields = Object.entries(row).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(formValuesOfRow(value as Record<string, unknown>)).map(([inner, one]) => [
          `${name}.${inner}`,
          one,
        ])
      : [[name, value]],
  );
  return Object.fromEntries(fields);
}

/** An object without a prototype. In it, every name is a plain field, even `__proto__`. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null);
}
