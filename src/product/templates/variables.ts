import type { DeclaredVariable } from './schema.ts';

/** The name of a declared variable. */
export function variableNameOf(variable: DeclaredVariable): string {
  return typeof variable === 'string' ? variable : variable.name;
}

/** The names of the variables that a row may leave empty. */
export function optionalVariableNames(variables: readonly DeclaredVariable[]): string[] {
  return variables.flatMap((variable) =>
    typeof variable !== 'string' && variable.optional === true ? [variable.name] : [],
  );
}
