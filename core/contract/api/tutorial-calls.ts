export const tutorialCalls = {};
