/** A text that is edited where it stands in the table. Enter keeps it, Escape gives it up, Shift+Enter is a new line. */

import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import classes from "./data.module.css";

interface CellEditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  onDone: () => Promise<void>;
  onCancel: () => void;
}

export function CellEditor({ label, value, onChange, onDone, onCancel }: CellEditorProps) {
  const { t } = useTranslation();
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const input = field.current;
    // What had the focus, to give it back.
    const grid = input?.closest<HTMLElement>("[role=grid]");
    input?.focus({ preventScroll: true });
    input?.select();
    return () => grid?.focus({ preventScroll: true });
  }, []);
  return (
    <textarea
      ref={field}
      className={classes.cellEditor}
      aria-label={t("data.row.editCell", { column: label })}
      rows={Math.min(12, Math.max(2, Math.ceil(value.length / 45), value.split("\n").length))}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onClick={(event) => event.stopPropagation()}
      onDoubleClick={(event) => event.stopPropagation()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onCancel();
        else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
          event.preventDefault();
          void onDone();
        }
      }}
    />
  );
}
