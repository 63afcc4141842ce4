/** A lesson's text. A link to `term:NAME` is a word with its meaning, as everywhere in the app. */

import Markdown, { defaultUrlTransform, type Components } from "react-markdown";
import { Term } from "../../components/term.tsx";

const scheme = "term:";

const components: Components = {
  a: ({ href = "", children }) =>
    href.startsWith(scheme) ? <Term name={href.slice(scheme.length)}>{children}</Term> : <>{children}</>,
};

const inlineComponents: Components = { ...components, p: ({ children }) => <>{children}</> };

/** `inline`: one paragraph, without its box. */
export function LessonMarkdown({ text, inline = false }: { text: string; inline?: boolean }) {
  return (
    <Markdown
      components={inline ? inlineComponents : components}
      urlTransform={(url) => (url.startsWith(scheme) ? url : defaultUrlTransform(url))}
    >
      {text}
    </Markdown>
  );
}
