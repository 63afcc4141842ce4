/** How the starter writes a conversation: ChatML, tools in one line each, calls as `<tool_call>{json}</tool_call>`. */

import { trainBpe } from "../text/train-bpe.ts";
import type { TokenizerJson } from "../text/tokenizer-json.ts";

const endOfText = "<|endoftext|>";
const startOfTurn = "<|im_start|>";
export const endOfTurn = "<|im_end|>";

const addedTokens = [
  endOfText,
  startOfTurn,
  endOfTurn,
  { content: "<tool_call>", special: false },
  { content: "</tool_call>", special: false },
];

/** A tool takes one line, `name(argument: type, …): description`: a short prompt is a quick one. */
const chatTemplate = `{%- set first = messages[0] if messages[0].role == 'system' else none -%}
{%- if first or tools -%}
{{- '<|im_start|>system\\n' -}}
{%- if first -%}{{- first.content -}}{%- endif -%}
{%- if tools -%}
{{- ('\\n\\n' if first else '') + '# Tools' -}}
{%- for tool in tools -%}
{{- '\\n' + tool.function.name + '(' -}}
{%- for name, argument in ((tool.function.parameters or {}).properties or {}).items() -%}
{{- name + ': ' + (argument.type or 'any') + ('' if loop.last else ', ') -}}
{%- endfor -%}
{{- ')' + (': ' + tool.function.description if tool.function.description else '') -}}
{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if not (loop.first and message.role == 'system') -%}
{{- '<|im_start|>' + message.role + '\\n' -}}
{%- if message.content -%}{{- message.content -}}{%- endif -%}
{%- if message.tool_calls -%}
{%- for call in message.tool_calls -%}
{{- '<tool_call>{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}</tool_call>' -}}
{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
`;

/**
 * What is never merged across. The fixed text of a tool call, a row of a board with its line break, and a phrase between
 * punctuation marks or digits may each become one token: a board is three tokens, and its reader need not count cells.
 */
const splitPattern = [
  '\\{"[^0-9\\n]*',
  "[1-9XO] [1-9XO] [1-9XO]\\n",
  " ?[0-9]",
  " ?[A-Za-z_]+(?:[ -][A-Za-z_]+)*",
  " ?[^\\sA-Za-z0-9]+",
  "\\s",
].join("|");

export function buildTokenizer(corpus: Iterable<string>, vocabSize: number): TokenizerJson {
  return trainBpe(corpus, { vocabSize, specialTokens: addedTokens, splitPattern, minFrequency: 10 });
}

const readme = `---
license: apache-2.0
language: en
---

# Hone's starter model

A Llama-architecture model of about 0.8 million parameters that reads tic-tac-toe boards, thinks out loud about them and knows what a call of \`choose_square\` looks like, but plays badly: it calls a square drawn almost at random, whatever the board, and often rambles. It exists so that training, measuring and playing can be tried anywhere, offline, in a minute.

Made from random weights by Hone's own engine (\`npm run starter\`, recipe in \`core/starter\`), on generated text only: requests to point at squares (free ones, those of X or O, those that complete a line or make two threats), answered truly, and move answers of true sentences in random order with a random square. No board of a symmetry class that is held out or kept for validation was shown, and nothing tells which move is good.

The vocabulary is byte-level BPE learnt from the same text. Phrases, the fixed text of a call and whole rows of a board are single tokens, so a board is three tokens.
`;

/** The small files of a Hugging Face folder beside `config.json`, weights and `tokenizer.json`. */
export function textFiles(contextLength: number): Record<string, string> {
  const json = (value: object) => JSON.stringify(value, null, 2) + "\n";
  return {
    "README.md": readme,
    "chat_template.jinja": chatTemplate,
    "tokenizer_config.json": json({
      tokenizer_class: "PreTrainedTokenizerFast",
      bos_token: null,
      eos_token: endOfTurn,
      pad_token: endOfText,
      unk_token: null,
      add_bos_token: false,
      clean_up_tokenization_spaces: false,
      model_max_length: contextLength,
    }),
    "generation_config.json": json({ eos_token_id: 2, pad_token_id: 0, do_sample: true, temperature: 1 }),
  };
}
