export const taskCalls = {};
