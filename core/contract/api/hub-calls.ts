export const hubCalls = {};
