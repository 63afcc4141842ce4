/** CodeMirror behind `CodeEditor`, in a file of its own so that it is loaded only when an editor is shown. */

import { autocompletion } from "@codemirror/autocomplete";
import { indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState, type Extension, type Text } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup, EditorView } from "codemirror";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { completeFrom } from "./code-completion.ts";
import type { CodeDiagnostic, CodeEditorProps, CodeLanguage } from "./code-editor.tsx";
import "./code-editor.css";

/** Colours are variables, so light and dark need no second theme. */
const highlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--hone-code-keyword)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--hone-code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--hone-code-number)" },
  { tag: [tags.comment], color: "var(--hone-muted)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--hone-code-property)" },
  { tag: [tags.typeName, tags.className], color: "var(--hone-code-type)" },
]);

const languages: Record<CodeLanguage, () => Extension> = {
  typescript: () => javascript({ typescript: true }),
  json: () => json(),
  text: () => [],
};

export default function CodeMirror(props: CodeEditorProps) {
  const { value, language, label, readOnly = false, minHeight = "160px", maxHeight = "60vh" } = props;
  const { diagnostics, completions } = props;
  const { t } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const parts = useRef({ language: new Compartment(), readOnly: new Compartment(), name: new Compartment() });

  useEffect(() => {
    if (place.current === null) return undefined;
    const { language: languagePart, readOnly: readOnlyPart, name } = parts.current;
    const save = () => {
      latest.current.onSave?.();
      return latest.current.onSave !== undefined;
    };
    const editor = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          keymap.of([indentWithTab, { key: "Mod-s", run: save, preventDefault: true }]),
          basicSetup,
          syntaxHighlighting(highlight),
          lintGutter(),
          languagePart.of([]),
          readOnlyPart.of([]),
          name.of([]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      view.current = undefined;
    };
  }, []);

  useEffect(() => {
    const words = completions ?? [];
    const source = completeFrom(words, language);
    // Beside the language's own words where it has some.
    const extension = [
      languages[language](),
      words.length === 0
        ? []
        : language === "text"
          ? autocompletion({ override: [source] })
          : EditorState.languageData.of(() => [{ autocomplete: source }]),
    ];
    view.current?.dispatch({ effects: parts.current.language.reconfigure(extension) });
  }, [language, completions]);

  useEffect(() => {
    const extension = [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly)];
    view.current?.dispatch({ effects: parts.current.readOnly.reconfigure(extension) });
  }, [readOnly]);

  useEffect(() => {
    const attributes = EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-description": t("rewards.editorKeys"),
      tabindex: "0",
    });
    view.current?.dispatch({ effects: parts.current.name.reconfigure(attributes) });
  }, [label, t]);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined) return;
    const now = editor.state.doc.toString();
    if (now !== value) editor.dispatch({ changes: changeBetween(now, value) });
  }, [value]);

  useEffect(() => {
    const editor = view.current;
    if (editor === undefined) return;
    const { doc } = editor.state;
    editor.dispatch(
      setDiagnostics(
        editor.state,
        (diagnostics ?? []).map((one) => placed(one, doc)),
      ),
    );
  }, [diagnostics]);

  return (
    <div
      ref={place}
      className="hone-code"
      style={{ "--hone-code-min": minHeight, "--hone-code-max": maxHeight } as React.CSSProperties}
    />
  );
}

/** The one span in which two texts differ, so that the cursor stays where it is. */
function changeBetween(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < shorter - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

function placed({ line, column, severity, message }: CodeDiagnostic, doc: Text): Diagnostic {
  const whole = doc.line(Math.min(Math.max(1, line), doc.lines));
  const from = Math.min(whole.from + Math.max(0, (column ?? 1) - 1), whole.to);
  const word = column === undefined ? null : /^[\w$]+/.exec(doc.sliceString(from, whole.to));
  const to = column === undefined ? whole.to : Math.min(whole.to, from + (word?.[0].length ?? 1));
  return { from, to, severity, message };
}
