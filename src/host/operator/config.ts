import { pathSetting, textSetting } from '../../platform/setting.ts';

export const operatorSettings = {
  OPERATOR_TOKEN: textSetting({
    description:
      "Token that opens the operator's interface and the screens Operate and Runs of the console. Without it they are closed, but for the one-time link of `npm run admin -- console --operator`.",
    pattern: /^[\x21-\x7e]{24,256}$/,
    accepts: '24 to 256 printable characters without spaces are expected',
    secret: true,
  }),
  RESULTS_DIR: pathSetting({
    description: 'Folder of the reports of bench and tune, which the screen Runs shows.',
    fallback: 'bench/results',
  }),
};
