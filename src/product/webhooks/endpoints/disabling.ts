import type { SendMail } from '../../../platform/mail.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import type { DeliveriesStore } from '../deliveries/store.ts';
import { type EndpointDocument, type EndpointsStore, MAX_CONSECUTIVE_FAILURES } from './store.ts';

interface DisablingOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  sendMail: SendMail;
  /** Finds the e-mail address of an account; null when the account does not exist any more. */
  findEmail: (accountId: string) => Promise<string | null>;
  subscriptionsChanged: (accountId: string) => Promise<void>;
  now: () => Date;
  log: EventLog;
}

/** The time between two attempts to send one mail. */
const MAIL_RETRY_MS = 10 * 60 * 1000;
/** The time after which a mail is given up. Its owner can read the state of the endpoint without it. */
const MAIL_EXPIRY_MS = DAY_MS;

/**
 * Disables endpoints that fail repeatedly, and mails each owner once. The mail is claimed before it is sent and cleared
 * afterwards. A crash in between sends it again ten minutes later, with the same Message-ID.
 */
export class EndpointDisabling {
  readonly #options: DisablingOptions;
  #mailing: Promise<void> = Promise.resolve();

  constructor(options: DisablingOptions) {
    this.#options = options;
  }

  /** Counts a delivery that has no retries left, once. After too many of these in a row, the endpoint is disabled. */
  async countFailure(
    { accountId, _id }: EndpointDocument,
    deliveryId: string,
    error: string | null,
  ): Promise<void> {
    const counted = await this.#options.endpoints.countFailure(accountId, _id, deliveryId);
    if (counted === null || counted.consecutiveFailures < MAX_CONSECUTIVE_FAILURES) return;
    await this.disable(counted, error);
  }

  /** Disables an endpoint that failed too often. */
  async disable(
    { accountId, _id, consecutiveFailures }: EndpointDocument,
    lastError: string | null,
  ): Promise<void> {
    const reason = `${consecutiveFailures} consecutive deliveries failed; the last error: ${lastError ?? 'unknown'}`;
    const disabled = await this.#options.endpoints.disable(accountId, _id, reason, this.#options.now());
    if (disabled === null) return;
    await this.closeQueue(disabled);
    this.#mailOwners();
  }

  /** Closes the queued deliveries of a disabled or deleted endpoint, and notifies the other processes. */
  async closeQueue({ accountId, _id, generation }: EndpointDocument): Promise<void> {
    await this.#options.subscriptionsChanged(accountId);
    await this.#options.deliveries.closeQueued(accountId, _id, generation);
  }

  /**
   * Sends one due mail. The sweep also calls this method, for mails that a crash or an outage left.
   * @returns 0 when none is due.
   */
  readonly mailNext = async (): Promise<number> => {
    const now = this.#options.now();
    const retryAt = new Date(now.getTime() + MAIL_RETRY_MS);
    const endpoint = await this.#options.endpoints.claimNotice(now, retryAt);
    if (endpoint === null) return 0;
    const isLate = Date.parse(endpoint.disabledAt ?? '') + MAIL_EXPIRY_MS < now.getTime();
    const to = isLate ? null : await this.#options.findEmail(endpoint.accountId);
    if (to !== null) await this.#options.sendMail({ to, ...disabledNotice(endpoint) });
    await this.#options.endpoints.clearNotice(endpoint.accountId, endpoint._id);
    return 1;
  };

  /** Resolves when no mail is being sent. */
  idle(): Promise<void> {
    return this.#mailing;
  }

  /** Starts to send the due mails, in the background. */
  #mailOwners(): void {
    this.#mailing = this.#mailing
      .then(async () => {
        while ((await this.mailNext()) > 0);
      })
      .catch((error) =>
        this.#options.log.warn({ err: error }, 'The owner of a disabled endpoint could not be mailed yet'),
      );
  }
}

function disabledNotice({ _id, url, disabledAt, disabledReason }: EndpointDocument) {
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
