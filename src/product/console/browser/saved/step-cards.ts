import type { PresetStep } from '../../../../client/schema.ts';
import { html } from '../html.ts';

interface StepCardsProps {
  steps: readonly PresetStep[];
  /** Steps of another version. Differences from them are marked. */
  comparedWith?: readonly PresetStep[];
}

/** The steps of a preset as cards, in order. */
export function StepCards({ steps, comparedWith }: StepCardsProps) {
  return html`<ol class="step-cards">
    ${steps.map((step, index) => {
      const other = comparedWith?.[index];
      const isNew = comparedWith !== undefined && other === undefined;
      const values = valuesOf(step);
      const others = other === undefined ? {} : valuesOf(other);
      return html`<li key=${index} class=${isNew ? 'card new' : 'card'}>
        <span class="step-number">${index + 1}</span>
        <div>
          <strong class=${markOf(comparedWith !== undefined && nameOf(step) !== (other && nameOf(other)))}>${nameOf(step)}</strong>
          <dl>
            ${Object.entries(values).map(
              ([
                name,
                value,
              ]) => html`<div key=${name} class=${markOf(comparedWith !== undefined && others[name] !== value)}>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>`,
            )}
          </dl>
        </div>
      </li>`;
    })}
  </ol>`;
}

function nameOf({ op, operation }: PresetStep): string {
  return op ?? operation ?? '';
}

function markOf(isDifferent: boolean): string | undefined {
  return isDifferent ? 'differs' : undefined;
}

/** What a step sets, by its name, as texts. */
function valuesOf({
  op: _,
  operation: __,
  parameters = {},
  params = {},
  ...fields
}: PresetStep): Record<string, string> {
  const all = { ...fields, ...(params as object), ...parameters };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}
