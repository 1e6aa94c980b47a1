import type { RenderThread } from '../../../src/imaging/renders/thread.ts';
import type { RenderClient, RenderResult, RenderTask } from '../../../workers/render/protocol.ts';

/** A call to the stand-in: the test decides when it is drawn, and its answer. */
export interface StandInCall {
  html: string;
  /** Whether its client has gone. */
  readonly abandoned: boolean;
  beginDrawing(): void;
  answer(answer?: RenderResult): void;
}

export interface StandInThread extends RenderThread {
  /** All calls so far. */
  calls: StandInCall[];
  stops: number;
}

export const RENDERED: RenderResult = {
  kind: 'rendered',
  data: new Uint8Array(1),
  contentType: 'image/png',
  width: 1,
  height: 1,
  timings: { decodeMs: 1, processMs: 1, encodeMs: 1 },
  text: { characters: '', families: [], cut: [] },
};
export const KILLED: RenderResult = { kind: 'render_failure', reason: 'deadline', message: 'killed' };

export const TOO_LARGE: RenderResult = { kind: 'render_failure', reason: 'memory', message: 'killed' };

/** Draws a page for a client that waits for it. */
export function drawPage(thread: RenderThread): Promise<RenderResult> {
  const size = { width: 1, height: 1 };
  const task = {
    kind: 'render',
    html: '',
    ...size,
    accountId: 'acc_a',
    assets: {},
    deadlineMs: 1e12,
  } as const;
  return thread.draw(task, { clientGone: new AbortController().signal, onDrawing: () => {} });
}

/** A render thread without a browser. */
export function standInThread(): StandInThread {
  const calls: StandInCall[] = [];
  let callCount = 0;
  return {
    calls,
    stops: 0,
    get callCount() {
      return callCount;
    },
    draw({ html }: RenderTask, { clientGone, onDrawing }: RenderClient) {
      callCount += 1;
      const answered = Promise.withResolvers<RenderResult>();
      calls.push({
        html,
        get abandoned() {
          return clientGone.aborted;
        },
        beginDrawing: onDrawing,
        answer: (answer = RENDERED) => answered.resolve(answer),
      });
      return answered.promise.finally(() => {
        callCount -= 1;
      });
    },
    async stop() {
      this.stops += 1;
    },
  };
}
