/** Messages as a person reads them: who speaks, thinking folded away, tool calls, tool results, and tokens by how sure the model was. */

import type { ReactNode } from "react";
import type { ChatMessage } from "../../core/contract/chat.ts";

/** One drawn token. */
export interface ShownToken {
  /** Its text; a character cut between tokens is shown as �. */
  text: string;
  /** Natural log of its probability at temperature 1. */
  logprob: number;
}

export interface ConversationProps {
  messages: readonly ChatMessage[];
  /** Accessible name of the list. */
  label: string;
  /** By message index: the tokens that it was drawn as. They are shown in place of the message, coloured by log-prob. */
  tokens?: Readonly<Record<number, readonly ShownToken[]>>;
  /** What stands below a message: token counts, buttons. */
  footer?: (index: number) => ReactNode;
  /** Answers as Markdown, shown safely; default false: exactly as written. */
  markdown?: boolean;
  /** Index of the message that is being written. */
  writing?: number;
}

export function Conversation(_props: ConversationProps): ReactNode {
  return null;
}
