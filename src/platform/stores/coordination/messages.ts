import { randomText } from '../../ids/ids.ts';
import type { Coordination } from './port.ts';

type MessageListener = (message: string) => void;

/** The log to which exceptions of listeners are written. */
export interface ListenerLog {
  error(context: object, message: string): void;
}

/** The log for callers without a log, such as an operator's command. Node prints the error with its stack. */
const STDERR_LOG: ListenerLog = {
  error: (context, message) => process.emitWarning(message, { detail: String(Reflect.get(context, 'err')) }),
};

/** The listeners of each channel within this process. */
export class ChannelListeners {
  readonly #log: ListenerLog;
  readonly #byChannel = new Map<string, Set<MessageListener>>();

  constructor(log: ListenerLog = STDERR_LOG) {
    this.#log = log;
  }

  /**
   * Adds a listener; the same function can be added several times. Returns the function that removes it, which returns
   * true when the channel is then empty.
   */
  add(channel: string, listener: MessageListener): () => boolean {
    const own: MessageListener = (message) => listener(message);
    const listeners = this.#byChannel.get(channel) ?? new Set();
    this.#byChannel.set(channel, listeners.add(own));
    return () => listeners.delete(own) && listeners.size === 0 && this.#byChannel.delete(channel);
  }

  /**
   * Calls all listeners, and returns whether there were any. A listener that throws affects neither the others nor the
   * process.
   */
  deliver(channel: string, message: string): boolean {
    const listeners = [...(this.#byChannel.get(channel) ?? [])];
    for (const listener of listeners) {
      try {
        listener(message);
      } catch (error) {
        this.#log.error({ err: error, channel }, 'A listener failed at a message between processes');
      }
    }
    return listeners.length > 0;
  }
}

/** The methods of coordination by which questions and answers are sent. */
export type MessageChannels = Pick<Coordination, 'publish' | 'subscribe'>;

/**
 * Asks every process of every host over coordination. Messages may be lost: a process that does not answer in time is
 * missing from the answers.
 * @param channel the channel on which each process answers by `answerProcessQuestions`.
 */
export async function askEveryProcess<Answer>(
  coordination: MessageChannels,
  channel: string,
  question: object,
  timeoutMs: number,
): Promise<Answer[]> {
  const id = randomText(16);
  const answers: Answer[] = [];
  const complete = Promise.withResolvers<void>();
  let expected = Number.POSITIVE_INFINITY;
  const unsubscribe = await coordination.subscribe(`${channel}/${id}`, (message) => {
    answers.push(JSON.parse(message) as Answer);
    if (answers.length >= expected) complete.resolve();
  });
  const timeoutTimer = setTimeout(complete.resolve, timeoutMs);
  try {
    expected = await coordination.publish(channel, JSON.stringify({ id, question }));
    if (answers.length < expected) await complete.promise;
    return answers;
  } finally {
    clearTimeout(timeoutTimer);
    unsubscribe();
  }
}

/** Answers the questions on a channel in this process. Resolves with a function that stops answering. */
export function answerProcessQuestions<Question, Answer>(
  coordination: MessageChannels,
  channel: string,
  answer: (question: Question) => Promise<Answer> | Answer,
): Promise<() => void> {
  async function reply(message: string): Promise<void> {
    const { id, question } = JSON.parse(message) as { id: string; question: Question };
    await coordination.publish(`${channel}/${id}`, JSON.stringify(await answer(question)));
  }
  return coordination.subscribe(channel, (message) => {
    // A lost answer is ignored, because the process can repeat its question.
    reply(message).catch(() => undefined);
  });
}
