/** Completion of the words that the place of an editor knows: fields behind `owner.`, names elsewhere. */

import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { CodeCompletion, CodeLanguage } from "./code-editor.tsx";

/** A source of CodeMirror's. In JSON words are offered within quotes, with the quotes where there are none. */
export function completeFrom(
  words: readonly CodeCompletion[],
  language: CodeLanguage,
): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    if (language === "json") {
      const quoted = context.matchBefore(/"[\w-]*/);
      const bare = context.matchBefore(/[\w-]+/);
      if (quoted === null && bare === null && !context.explicit) return null;
      const options = words.map((word) => option(word, quoted === null ? `"${word.label}"` : word.label));
      return { from: quoted === null ? (bare?.from ?? context.pos) : quoted.from + 1, options, validFor: /^"?[\w-]*$/ };
    }
    const member = context.matchBefore(/[A-Za-z_$][\w$]*(?:\[[^\]]*\])?\??\.[\w$]*/);
    if (member !== null) {
      const owner = /^[A-Za-z_$][\w$]*/.exec(member.text)?.[0];
      const options = words.filter((word) => word.owner === owner).map((word) => option(word, word.label));
      return options.length === 0
        ? null
        : { from: member.from + member.text.lastIndexOf(".") + 1, options, validFor: /^[\w$]*$/ };
    }
    const name = context.matchBefore(/[A-Za-z_$][\w$]*/);
    if (name === null && !context.explicit) return null;
    const options = words.filter((word) => word.owner === undefined).map((word) => option(word, word.label));
    return { from: name?.from ?? context.pos, options, validFor: /^[\w$]*$/ };
  };
}

function option({ label, kind, detail, info }: CodeCompletion, apply: string) {
  return {
    label,
    apply,
    type: kind,
    ...(detail !== undefined && { detail }),
    ...(info !== undefined && { info }),
  };
}
