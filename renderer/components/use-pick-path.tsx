/** Asks for files, a folder or a place to save: with the system's dialog where there is one, else with Hone's own. */

import { useCallback, useState, type ReactNode } from "react";
import { useApi } from "../app/hone-context.tsx";
import { PathDialog, type PathQuestion } from "./path-dialog.tsx";

export interface PickOptions {
  kind: "file" | "folder";
  /** Said above the list: what is asked for. */
  title: string;
  /** Files: whether several may be chosen. */
  many?: boolean;
  /** Files: endings that are shown, without the dot. */
  extensions?: string[];
}

export interface PathPickers {
  /** The chosen paths; none when the person changed their mind. */
  pick: (options: PickOptions) => Promise<string[]>;
  /** Where to save; null as above. `name` is the file name that is proposed. */
  pickSave: (options: { title: string; name: string }) => Promise<string | null>;
  /** To be rendered somewhere: the dialog while it is open, otherwise nothing. */
  dialog: ReactNode;
}

export function usePickPath(): PathPickers {
  const { shell } = useApi();
  const [open, setOpen] = useState<{ question: PathQuestion; answer: (paths: string[]) => void }>();
  const ask = useCallback(
    (question: PathQuestion) => new Promise<string[]>((answer) => setOpen({ question, answer })),
    [],
  );
  const pick = useCallback(
    (options: PickOptions) => (shell.pick === undefined ? ask(options) : shell.pick(options)),
    [shell, ask],
  );
  const pickSave = useCallback(
    async (options: { title: string; name: string }) => {
      if (shell.pickSave !== undefined) return shell.pickSave(options);
      const [path] = await ask({ ...options, kind: "save" });
      return path ?? null;
    },
    [shell, ask],
  );
  const dialog = open !== undefined && (
    <PathDialog
      question={open.question}
      onAnswer={(paths) => {
        setOpen(undefined);
        open.answer(paths);
      }}
    />
  );
  return { pick, pickSave, dialog };
}
