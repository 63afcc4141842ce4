/** Tags by which Hone tells an answer's parts apart. */

export const thinkOpen = "<think>";
export const thinkClose = "</think>";
export const callOpen = "<tool_call>";
export const callClose = "</tool_call>";

export const markers: readonly string[] = [thinkOpen, thinkClose, callOpen, callClose];
