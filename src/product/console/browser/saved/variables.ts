import { variableNamesIn } from '../../../templates/placeholders.ts';
import type { TemplateVariable } from './row.ts';

/** The variables of a template while it is edited: those of its placeholders, which stay optional if they were. */
export function variablesIn(
  html: string,
  css: string,
  before: readonly TemplateVariable[],
): TemplateVariable[] {
  const known = new Map(
    before.map((variable) => [typeof variable === 'string' ? variable : variable.name, variable]),
  );
  return variableNamesIn(html, css).map((name) => known.get(name) ?? name);
}
