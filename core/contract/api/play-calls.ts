export const playCalls = {};
