import type { BodyOf } from '../../../../client/calls.ts';
import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition, PresetData, PresetStep } from '../../../../client/schema.ts';
import { html, useState } from '../html.ts';
import { Button } from '../parts/button.ts';
import { Dialog } from '../parts/dialog.ts';
import { Field } from '../parts/form.ts';
import { takesText } from '../parts/handlers.ts';
import { mended, type OtherCall } from '../parts/mending.ts';
import { useAction, useReading } from '../parts/reading.ts';
import { ErrorBox, Waiting } from '../parts/states.ts';
import { toast } from '../parts/toast.ts';
import { replacedSteps } from '../playground/applying.ts';
import { StepList } from '../playground/steps.ts';
import { isStep, type WorkStep } from '../playground/work.ts';
import { api } from '../session.ts';

interface PresetEditorProps {
  preset: PresetData;
  onClose: () => void;
  onSaved: () => void;
}

/** Edits the steps of a preset, which makes a new version of it. */
export function PresetEditor({ preset, onClose, onSaved }: PresetEditorProps) {
  const [steps, setSteps] = useState<readonly PresetStep[]>(preset.steps);
  const [text, setText] = useState(() => JSON.stringify(preset.steps, null, 2));
  const { data: ops, error: notRead } = useReading((signal) => api.request('GET', '/ops', { signal }), []);
  const { act, isActing, error } = useAction();
  const definitions = new Map(
    (ops as OpDefinition[] | undefined)?.map((definition) => [definition.op, definition]),
  );
  const hasForm = steps.every(({ op, model, prompt }) => {
    const definition = definitions.get(op ?? '');
    return definition !== undefined && isStep(definition) && model === undefined && prompt === undefined;
  });
  const sentSteps = () => (hasForm ? steps : (JSON.parse(text) as PresetStep[]));
  const set = (next: readonly PresetStep[]) => {
    setSteps(next);
    setText(JSON.stringify(next, null, 2));
  };
  const save = () =>
    act(async () => {
      const { version } = await api.presets.update(preset.slug, {
        steps: sentSteps() as BodyOf<'PUT /presets/{slug}'>['steps'] & object,
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
      onFix=${(fix: readonly Fix[]) => set(mended({ steps: sentSteps() }, fix).steps)}
      onInstead=${(instead: OtherCall) => set(replacedSteps(sentSteps(), instead, definitions))}
    />
    ${ops === undefined && notRead === undefined && html`<${Waiting} />`}
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
              onInput=${takesText(setText)}
            ></textarea>
          <//>`)
    }
  <//>`;
}
