import { type SettingsOf, textSetting, urlSetting } from './setting.ts';

export const mailSettings = {
  SMTP_URL: urlSetting({
    description:
      'Mail server, such as smtps://user:password@mail.example.com; without it, mails are written to the log.',
    pattern: /^smtps?:\/\/\S+$/,
    accepts: 'an smtp:// or smtps:// address with its password percent-encoded is expected',
    secret: true,
  }),
  MAIL_FROM: textSetting({
    description: 'Sender of the mails.',
    fallback: 'darkroom@localhost',
    pattern: /^(?:[^\r\n<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/,
    accepts: 'an address such as darkroom@example.com or Darkroom <darkroom@example.com> is expected',
  }),
};

interface MailMessage {
  /** An id that is equal for every attempt to send one message, so that the receiving server can deduplicate. */
  id: string;
  to: string;
  subject: string;
  text: string;
}

/**
 * Sends a mail to the owner of an account. Resolves when the mail server has accepted it.
 * @throws Error of the mail server or of the connection to it.
 */
export type SendMail = (message: MailMessage) => Promise<void>;

interface MailOptions {
  settings: SettingsOf<typeof mailSettings>;
  log: { info(context: object, message: string): void };
}

const SMTP_CONNECT_TIMEOUT_MS = 10_000;
const SMTP_RESPONSE_TIMEOUT_MS = 30_000;

/** Sends mails through the operator's SMTP server, or writes them to the log if none is configured. */
export function createMailSender({ settings: { SMTP_URL, MAIL_FROM }, log }: MailOptions): SendMail {
  return async ({ id, to, subject, text }) => {
    if (SMTP_URL === '') {
      log.info({ to, subject, text }, 'A mail was not sent, because SMTP_URL is not set');
      return;
    }
    // The package is loaded on demand, because most processes never send a mail.
    const { createTransport } = await import('nodemailer');
    const transport = createTransport({
      url: SMTP_URL,
      connectionTimeout: SMTP_CONNECT_TIMEOUT_MS,
      greetingTimeout: SMTP_CONNECT_TIMEOUT_MS,
      socketTimeout: SMTP_RESPONSE_TIMEOUT_MS,
    });
    try {
      const messageId = `<${id.replaceAll(/[^\w.-]/g, '-')}@darkroom>`;
      await transport.sendMail({ from: MAIL_FROM, to, subject, text, messageId });
    } finally {
      transport.close();
    }
  };
}
