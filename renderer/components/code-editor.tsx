/**
 * An editor for code: highlighting, completion, errors at their place. The editor itself (CodeMirror) is loaded when one
 * is first shown. Tab indents; Esc and then Tab leaves the editor, which a screen reader is told.
 */

import { Skeleton } from "@mantine/core";
import { lazy, Suspense } from "react";

export type CodeLanguage = "typescript" | "json" | "text";

/** What is wrong at a place. Lines and columns count from 1; without a column the whole line is meant. */
export interface CodeDiagnostic {
  line: number;
  column?: number;
  severity: "error" | "warning" | "info";
  message: string;
}

/** A word that the editor offers. */
export interface CodeCompletion {
  label: string;
  kind: "property" | "variable" | "function" | "keyword" | "constant";
  /** Its type, in short. */
  detail?: string;
  /** What it is, in a sentence. */
  info?: string;
  /** Offered behind `owner.` only; without it everywhere else. */
  owner?: string;
}

export interface CodeEditorProps {
  value: string;
  onChange: (value: string) => void;
  language: CodeLanguage;
  /** Its name for a screen reader. */
  label: string;
  diagnostics?: readonly CodeDiagnostic[];
  completions?: readonly CodeCompletion[];
  readOnly?: boolean;
  /** CSS heights. Default: as high as its text, from 160px to 60vh. */
  minHeight?: string;
  maxHeight?: string;
  /** Mod+S within the editor. */
  onSave?: () => void;
}

/** The ending of a file name → the language it is written in. */
export function languageOf(fileName: string): CodeLanguage {
  if (/\.m?[jt]s$/i.test(fileName)) return "typescript";
  return /\.json$/i.test(fileName) ? "json" : "text";
}

const Editor = lazy(() => import("./code-mirror.tsx"));

export function CodeEditor(props: CodeEditorProps) {
  return (
    <Suspense fallback={<Skeleton height={props.minHeight ?? "160px"} aria-label={props.label} />}>
      <Editor {...props} />
    </Suspense>
  );
}
