export const ASSETS_PATH = '/console/assets';
