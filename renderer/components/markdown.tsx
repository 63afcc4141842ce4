/** What a model wrote, as Markdown. Nothing in it can run, load, or lead away unasked: HTML is text, pictures are their words. */

import { Anchor, Code, Table } from "@mantine/core";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { useApi } from "../app/hone-context.tsx";
import classes from "./conversation.module.css";

export default function Markdown({ text }: { text: string }) {
  const api = useApi();
  const components: Components = {
    a: ({ href = "", children }) => (
      <Anchor
        href={href}
        title={href}
        onClick={(event) => {
          event.preventDefault();
          if (/^https?:/.test(href)) void api.shell.openExternal(href);
        }}
      >
        {children}
      </Anchor>
    ),
    img: ({ alt = "" }) => <>{alt}</>,
    code: ({ children }) => <Code>{children}</Code>,
    pre: ({ children }) => <div className={classes.block}>{children}</div>,
    table: ({ children }) => (
      <Table withTableBorder withColumnBorders my="xs">
        {children}
      </Table>
    ),
  };
  return (
    <div className={classes.markdown}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={components}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
