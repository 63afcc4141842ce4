export const rewardCalls = {};
