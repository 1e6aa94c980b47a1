import type { RenderCallHooks, RenderThread } from '../../../src/imaging/renders/thread.ts';
import type { RenderAnswer, RenderCall } from '../../../workers/render/protocol.ts';

/** A call to the stand-in: the test decides when it is drawn, and its answer. */
export interface StandInCall {
  /** Of the page; empty for a call without one. */
  html: string;
  /** Whether its client has gone. */
  readonly abandoned: boolean;
  beginDrawing(): void;
  answer(answer?: RenderAnswer): void;
}

export interface StandInThread extends RenderThread {
  /** All calls so far. */
  calls: StandInCall[];
  idleStops: number;
}

export const RENDERED: RenderAnswer = {
  kind: 'rendered',
  data: new Uint8Array(1),
  contentType: 'image/png',
  width: 1,
  height: 1,
  timings: { decodeMs: 1, processMs: 1, encodeMs: 1 },
  text: { characters: '', families: [], cut: [] },
};
export const KILLED: RenderAnswer = { kind: 'render_failure', reason: 'deadline', message: 'killed' };

export const TOO_LARGE: RenderAnswer = { kind: 'render_failure', reason: 'memory', message: 'killed' };

/** A render thread without a browser. */
export function standInThread(): StandInThread {
  const calls: StandInCall[] = [];
  let busy = 0;
  return {
    calls,
    idleStops: 0,
    get busy() {
      return busy;
    },
    call(task: RenderCall, _deadlineMs: number, { clientGone, onDrawing }: RenderCallHooks = {}) {
      busy += 1;
      const answered = Promise.withResolvers<RenderAnswer>();
      calls.push({
        html: task.kind === 'render' ? task.html : '',
        get abandoned() {
          return clientGone?.aborted ?? false;
        },
        beginDrawing: () => onDrawing?.(),
        answer: (answer = RENDERED) => answered.resolve(answer),
      });
      return answered.promise.finally(() => {
        busy -= 1;
      });
    },
    async stopIfIdle() {
      this.idleStops += 1;
    },
    async stop() {},
  };
}
