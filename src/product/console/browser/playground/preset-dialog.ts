import type { BodyOf } from '../../../../client/calls.ts';
import type { Fix } from '../../../../client/errors.ts';
import type { OpDefinition } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useState } from '../html.ts';
import { Button, Field, onSubmitFields, onText } from '../parts/controls.ts';
import { type AlternativeCall, applyFix } from '../parts/correcting.ts';
import { Dialog, toast } from '../parts/overlays.ts';
import { ErrorBox } from '../parts/page.ts';
import { useAction } from '../parts/reading.ts';
import { navigate } from '../router.ts';
import { replaceSteps } from './applying.ts';
import type { WorkStep } from './work.ts';

interface PresetDialogProps {
  steps: readonly WorkStep[];
  definitions: ReadonlyMap<string, OpDefinition>;
  onClose: () => void;
}

export function PresetDialog({ steps, definitions, onClose }: PresetDialogProps) {
  const [draft, setDraft] = useState({ name: '', description: '', steps });
  const { act, isActing, error, clear } = useAction();
  const set = (change: Partial<typeof draft>) => setDraft({ ...draft, ...change });
  const apply = (change: Partial<typeof draft>) => {
    clear();
    set(change);
  };
  const save = () =>
    act(async () => {
      const { slug } = await api.presets.create(draft as BodyOf<'POST /presets'>);
      toast(html`The preset <strong>${slug}</strong> is saved.`, { undo: () => api.presets.delete(slug) });
      onClose();
      navigate(`/console/presets/${slug}`);
    });
  return html`<${Dialog}
    title="Save as a preset"
    closes="Cancel"
    onClose=${onClose}
    actions=${html`<${Button} kind="primary" isBusy=${isActing} isDisabled=${draft.name.trim() === ''} onClick=${save}>Save<//>`}
  >
    <form class="form" onSubmit=${onSubmitFields(save)}>
      <${Field} label="Name" hint="Calls name it by a short form of this.">
        <input value=${draft.name} maxlength="200" onInput=${onText((name) => set({ name }))} />
      <//>
      <${Field} label="Description">
        <input value=${draft.description} onInput=${onText((description) => set({ description }))} />
      <//>
      <button type="submit" class="unseen" tabindex="-1" aria-hidden="true">Save</button>
    </form>
    <${ErrorBox}
      error=${error}
      onFix=${(fix: readonly Fix[]) => apply(applyFix(draft, fix))}
      onInstead=${(instead: AlternativeCall) => apply({ steps: replaceSteps(draft.steps, instead, definitions) })}
    />
  <//>`;
}
