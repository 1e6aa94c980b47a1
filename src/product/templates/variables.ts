import type { Variable } from './schema.ts';

/** The name of a declared variable. */
export function nameOf(variable: Variable): string {
  return typeof variable === 'string' ? variable : variable.name;
}

/** The names of the variables that a row may leave empty. */
export function optionalNames(variables: readonly Variable[]): string[] {
  return variables.flatMap((variable) =>
    typeof variable !== 'string' && variable.optional === true ? [variable.name] : [],
  );
}
