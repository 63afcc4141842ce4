export const dataCalls = {};
