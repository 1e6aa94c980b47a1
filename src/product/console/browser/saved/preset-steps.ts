import type { BodyOf } from '../../../../client/calls.ts';
import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition, PresetData, PresetStep } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useState } from '../html.ts';
import { Button, Field, onText } from '../parts/controls.ts';
import { type AlternativeCall, applyFix } from '../parts/correcting.ts';
import { Dialog, toast } from '../parts/overlays.ts';
import { ErrorBox, Placeholder } from '../parts/page.ts';
import { useAction, useLoad } from '../parts/reading.ts';
import { replaceSteps } from '../playground/applying.ts';
import { StepList } from '../playground/steps.ts';
import { canBeStep, type WorkStep } from '../playground/work.ts';

interface StepCardsProps {
  steps: readonly PresetStep[];
  /** The steps of another version. They are shown beside `steps`, and differences are marked. */
  comparedWith?: readonly PresetStep[];
}

export function StepCards({ steps, comparedWith }: StepCardsProps) {
  return html`<ol class="step-cards">
    ${steps.map((step, index) => {
      const other = comparedWith?.[index];
      const isNew = comparedWith !== undefined && other === undefined;
      const values = argumentTextsOf(step);
      const others = other === undefined ? {} : argumentTextsOf(other);
      return html`<li key=${index} class=${isNew ? 'card new' : 'card'}>
        <span class="step-number">${index + 1}</span>
        <div>
          <strong class=${differenceClassOf(comparedWith !== undefined && opNameOf(step) !== (other && opNameOf(other)))}>${opNameOf(step)}</strong>
          <dl>
            ${Object.entries(values).map(
              ([
                name,
                value,
              ]) => html`<div key=${name} class=${differenceClassOf(comparedWith !== undefined && others[name] !== value)}>
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

function opNameOf({ op, operation }: PresetStep): string {
  return op ?? operation ?? '';
}

function differenceClassOf(isDifferent: boolean): string | undefined {
  return isDifferent ? 'differs' : undefined;
}

/** The arguments of a step as text, by name. */
function argumentTextsOf(step: PresetStep): Record<string, string> {
  const { op: _, operation: __, parameters = {}, params = {}, ...fields } = step;
  const all = { ...fields, ...(params as object), ...parameters };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
}

interface PresetEditorProps {
  preset: PresetData;
  onClose: () => void;
  onSaved: () => void;
}

/** Edits the steps of a preset. Saving them creates a new version of the preset. */
export function PresetEditor({ preset, onClose, onSaved }: PresetEditorProps) {
  const [steps, setSteps] = useState<readonly PresetStep[]>(preset.steps);
  const [text, setText] = useState(() => JSON.stringify(preset.steps, null, 2));
  const { data: ops, error: notRead } = useLoad((signal) => api.request('GET', '/ops', { signal }), []);
  const { act, isActing, error } = useAction();
  const definitions = new Map(
    (ops as OpDefinition[] | undefined)?.map((definition) => [definition.op, definition]),
  );
  const hasForm = steps.every(({ op, model, prompt }) => {
    const definition = definitions.get(op ?? '');
    return definition !== undefined && canBeStep(definition) && model === undefined && prompt === undefined;
  });
  const stepsToSend = () => (hasForm ? steps : (JSON.parse(text) as PresetStep[]));
  const set = (next: readonly PresetStep[]) => {
    setSteps(next);
    setText(JSON.stringify(next, null, 2));
  };
  const save = () =>
    act(async () => {
      const { version } = await api.presets.update(preset.slug, {
        steps: stepsToSend() as BodyOf<'PUT /presets/{slug}'>['steps'] & object,
      });
      toast(`Version ${version} is saved.`);
      onSaved();
    });
  return html`<${Dialog}
    title=${`Steps of ${preset.name}`}
    closes="Cancel"
    onClose=${onClose}
    actions=${html`<${Button} kind="primary" isBusy=${isActing} onClick=${save}>Save a new version<//>`}
  >
    <${ErrorBox}
      error=${error ?? notRead}
      onFix=${(fix: readonly Fix[]) => set(applyFix({ steps: stepsToSend() }, fix).steps)}
      onInstead=${(instead: AlternativeCall) => set(replaceSteps(stepsToSend(), instead, definitions))}
    />
    ${ops === undefined && notRead === undefined && html`<${Placeholder} />`}
    ${
      ops !== undefined &&
      (hasForm
        ? html`<${StepList}
            steps=${steps as readonly WorkStep[]}
            definitions=${definitions}
            mayBeEmpty=${false}
            error=${error}
            onChange=${(next: readonly WorkStep[]) => setSteps(next as readonly PresetStep[])}
          />`
        : html`<${Field} label="Steps as JSON" hint="Some of them run a model, or name an operation: they have no form.">
            <textarea
              rows="16"
              spellcheck=${false}
              value=${text}
              onInput=${onText(setText)}
            ></textarea>
          <//>`)
    }
  <//>`;
}
