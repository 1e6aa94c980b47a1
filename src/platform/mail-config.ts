import { text } from './setting.ts';

export const mailSettings = {
  SMTP_URL: text({
    description:
      'Mail server, such as smtps://user:password@mail.example.com; without it, mails are written to the log.',
    pattern: /^smtps?:\/\/\S+$/,
    accepts: 'an smtp:// or smtps:// address is expected',
    secret: true,
  }),
  MAIL_FROM: text({
    description: 'Sender of the mails.',
    fallback: 'darkroom@localhost',
    pattern: /^[^\r\n]*[^\s@]+@[^\s@]+$/,
    accepts: 'an address such as darkroom@example.com or Darkroom <darkroom@example.com> is expected',
  }),
};
