import type { Mail } from '../../../platform/mail/mail.ts';
import { DAY_MS } from '../../../platform/names/units.ts';
import type { Log } from '../../../platform/tracing/log.ts';
import type { EndpointDocument } from './endpoint.ts';
import type { EndpointsStore } from './store.ts';

interface NoticesOptions {
  endpoints: EndpointsStore;
  mail: Mail;
  /** Null when the account is gone. */
  emailOf: (accountId: string) => Promise<string | null>;
  now: () => Date;
  log: Log;
}

export interface Notices {
  /** Starts to send the due mails, in the background. */
  wake(): void;
  /**
   * Sends one due mail. The sweeper calls it as well, after a crash or an outage.
   * @returns 0 when none is due.
   */
  sendNext(): Promise<number>;
  /** Resolves when no mail is being sent. */
  idle(): Promise<void>;
}

/** Time between two tries of one mail. */
const TRY_AGAIN_MS = 10 * 60 * 1000;
/** After this time, a mail is given up: the owner sees the state on the endpoint. */
const GIVE_UP_MS = DAY_MS;

/**
 * Mails an owner once that an endpoint was disabled. The mail is claimed before it is sent and cleared afterwards: a
 * crash in between sends it again ten minutes later, with the same Message-ID.
 */
export function createNotices({ endpoints, mail, emailOf, now, log }: NoticesOptions): Notices {
  let sending: Promise<unknown> = Promise.resolve();

  async function sendNext(): Promise<number> {
    const endpoint = await endpoints.takeNotice(now(), new Date(now().getTime() + TRY_AGAIN_MS));
    if (endpoint === null) return 0;
    const isLate = Date.parse(endpoint.disabledAt ?? '') + GIVE_UP_MS < now().getTime();
    const to = isLate ? null : await emailOf(endpoint.accountId);
    if (to !== null) await mail.send({ to, ...noticeOf(endpoint) });
    await endpoints.noticed(endpoint.accountId, endpoint._id);
    return 1;
  }

  async function sendAll(): Promise<void> {
    while ((await sendNext()) > 0);
  }

  return {
    wake() {
      sending = sending
        .then(sendAll)
        .catch((error) =>
          log.warn({ err: error }, 'The owner of a disabled endpoint could not be mailed yet'),
        );
    },
    sendNext,
    idle: async () => void (await sending),
  };
}

function noticeOf({ _id, url, disabledAt, disabledReason }: EndpointDocument) {
  const { host } = new URL(url);
  return {
    id: `${_id}.${disabledAt}`,
    subject: `Your webhook endpoint on ${host} was disabled`,
    text: [
      `Your webhook endpoint ${_id} (${url}) was disabled at ${disabledAt}.`,
      `Reason: ${disabledReason}.`,
      '',
      'Deliveries that were queued for it are closed, and events of the time until you enable it again are not sent.',
      `When the receiver answers again, enable it with PUT /api/v1/webhook-endpoints/${_id} and {"enabled": true}.`,
    ].join('\n'),
  };
}
