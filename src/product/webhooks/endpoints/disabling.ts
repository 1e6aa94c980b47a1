import type { SendMail } from '../../../platform/mail.ts';
import type { EventLog } from '../../../platform/tracing/tracing.ts';
import { DAY_MS } from '../../../platform/values/units.ts';
import type { DeliveriesStore } from '../deliveries/store.ts';
import { type EndpointDocument, type EndpointsStore, MAX_CONSECUTIVE_FAILURES } from './store.ts';

interface DisablingOptions {
  endpoints: EndpointsStore;
  deliveries: DeliveriesStore;
  sendMail: SendMail;
  /** Finds the e-mail address of an account; null when the account no longer exists. */
  findEmail: (accountId: string) => Promise<string | null>;
  announceSubscriptionChange: (accountId: string) => Promise<void>;
  now: () => Date;
  log: EventLog;
}

/** How long to wait before a mail is tried again, in milliseconds. */
const MAIL_RETRY_PAUSE_MS = 10 * 60 * 1000;
/**
 * How long a mail is tried, in milliseconds. After that, it is given up, because the owner can also see the state of
 * the endpoint in the API.
 */
const MAIL_EXPIRY_MS = DAY_MS;

/**
 * Disables endpoints that keep failing, and sends each owner one mail. A mail is claimed before it is sent and cleared
 * afterwards. If the process dies in between, the mail is sent again ten minutes later, with the same Message-ID.
 */
export class EndpointDisabling {
  readonly #options: DisablingOptions;
  #mailing: Promise<void> = Promise.resolve();

  constructor(options: DisablingOptions) {
    this.#options = options;
  }

  /**
   * Counts a delivery that has failed for good. A repetition has no effect. After too many such deliveries in a row,
   * the endpoint is disabled.
   */
  async countFailure(
    { accountId, _id }: EndpointDocument,
    deliveryId: string,
    error: string | null,
  ): Promise<void> {
    const counted = await this.#options.endpoints.countFailure(accountId, _id, deliveryId);
    if (counted === null || counted.consecutiveFailures < MAX_CONSECUTIVE_FAILURES) return;
    await this.disable(counted, error);
  }

  /** Disables an endpoint that has failed too often. */
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

  /** Closes the queued deliveries of a disabled or deleted endpoint, and informs the other processes. */
  async closeQueue({ accountId, _id, generation }: EndpointDocument): Promise<void> {
    await this.#options.announceSubscriptionChange(accountId);
    await this.#options.deliveries.closeQueued(accountId, _id, generation);
  }

  /**
   * Sends one mail that is due. The sweep calls this method as well, for mails that a crash or an outage has left.
   * @returns 0 when no mail is due.
   */
  readonly mailNext = async (): Promise<number> => {
    const now = this.#options.now();
    const retryAt = new Date(now.getTime() + MAIL_RETRY_PAUSE_MS);
    const endpoint = await this.#options.endpoints.claimNotice(now, retryAt);
    if (endpoint === null) return 0;
    const isLate = Date.parse(endpoint.disabledAt ?? '') + MAIL_EXPIRY_MS < now.getTime();
    const to = isLate ? null : await this.#options.findEmail(endpoint.accountId);
    if (to !== null) await this.#options.sendMail({ to, ...disabledNotice(endpoint) });
    await this.#options.endpoints.clearNotice(endpoint.accountId, endpoint._id);
    return 1;
  };

  /** Resolves when no mail is being sent. */
  whenIdle(): Promise<void> {
    return this.#mailing;
  }

  /** Begins to send the due mails in the background. */
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
