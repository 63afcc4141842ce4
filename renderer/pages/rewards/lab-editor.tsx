/** The text of a reward, or the form that writes it. */

import { SegmentedControl, Stack, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { RewardFault } from "../../../core/contract/api/reward-calls.ts";
import { CodeEditor, languageOf, type CodeDiagnostic } from "../../components/code-editor.tsx";
import type { LabStore } from "../../stores/lab-store.ts";
import { PartForm } from "./part-form.tsx";
import { rewardCompletions } from "./reward-completions.ts";

export function LabEditor({ store }: { store: LabStore }) {
  const { t } = useTranslation();
  const { kind, path, text, setText, result, stale, save, example } = useStore(store);
  const [view, setView] = useState<"form" | "text">("form");
  const diagnostics = useMemo(() => (result === null || stale ? [] : diagnosticsOf(result)), [result, stale]);
  const columns = Object.keys(result?.samples[0]?.row ?? {}).join("\n");
  const completions = useMemo(
    () => rewardCompletions(kind, columns === "" ? [] : columns.split("\n"), t),
    [kind, columns, t],
  );
  const asForm = kind === "parts" && view === "form";
  const fault = result?.fault ?? null;
  return (
    <Stack gap="xs" className="hone-card">
      {kind === "parts" && (
        <SegmentedControl
          value={view}
          onChange={(value) => setView(value)}
          data={[
            { value: "form", label: t("rewards.form.title") },
            { value: "text", label: t("rewards.form.text") },
          ]}
          aria-label={t("rewards.form.choose")}
        />
      )}
      {asForm ? (
        <PartForm
          text={text}
          onChange={setText}
          columns={columns === "" ? [] : columns.split("\n")}
          disabled={example}
        />
      ) : (
        <CodeEditor
          value={text}
          onChange={setText}
          language={languageOf(path)}
          label={t("rewards.lab.editor", { name: path })}
          diagnostics={diagnostics}
          completions={completions}
          readOnly={example}
          minHeight="280px"
          onSave={() => void save()}
        />
      )}
      <div role="status" aria-live="polite">
        {fault !== null && (
          <Text size="sm" c="var(--hone-bad)" style={{ overflowWrap: "anywhere" }}>
            {fault.line === null ? "" : `${t("rewards.lab.line", { line: fault.line })}: `}
            {shortMessage(fault, path)}
          </Text>
        )}
        {fault?.error.fix !== undefined && (
          <Text size="sm" className="hone-muted">
            {t("common.error.fix", { fix: fault.error.fix })}
          </Text>
        )}
      </div>
      {!asForm && (
        <Text size="xs" className="hone-muted">
          {t("rewards.editorKeys")} {kind === "script" && t("rewards.lab.sandbox")}
          {kind === "program" && t("rewards.lab.program")}
        </Text>
      )}
    </Stack>
  );
}

function diagnosticsOf({ fault, sample_faults }: { fault: RewardFault | null; sample_faults: RewardFault[] }) {
  const all = fault === null ? sample_faults : [fault, ...sample_faults];
  return all.map(({ error, line, column }, i): CodeDiagnostic => ({
    line: line ?? 1,
    ...(column !== null && { column }),
    severity: fault !== null && i === 0 ? "error" : "warning",
    message: error.message,
  }));
}

/** Without the path, which stands above. */
function shortMessage({ error }: RewardFault, path: string): string {
  return error.message.replaceAll(new RegExp(`${path.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(:\\d+)*:? ?`, "g"), "");
}
