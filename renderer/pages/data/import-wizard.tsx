/** From a file to a dataset: what it is and why, how its columns are read, what is wrong with it, and then the copy. */

import { Alert, Button, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { ArrowLeft, Info } from "lucide-react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation, useSearchParams } from "wouter";
import type { DataCheck, DataInspection } from "../../../core/contract/api/data-calls.ts";
import { errorKind, HoneError } from "../../../core/contract/errors.ts";
import { formatBytes, formatCount } from "../../../core/contract/units.ts";
import { useApp, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { FileDrop } from "./file-drop.tsx";
import { MappingForm } from "./mapping-form.tsx";
import { PreviewTable } from "./preview-table.tsx";
import { SetAsideList } from "./set-aside-list.tsx";
import { ReadingProgress, useReading } from "./use-reading.tsx";

export function ImportWizard() {
  const { t } = useTranslation();
  const [params] = useSearchParams();
  const file = params.get("file");
  return (
    <Page
      title={t("data.import.title")}
      lead={t("data.import.lead")}
      actions={
        <Button component={Link} href="/data" variant="default" leftSection={<ArrowLeft size={16} aria-hidden />}>
          {t("nav.data")}
        </Button>
      }
    >
      <FileDrop large={file === null} />
      {file !== null && <FileImport key={file} path={file} />}
    </Page>
  );
}

function FileImport({ path }: { path: string }) {
  const [map, setMap] = useState<Record<string, string>>({});
  const inspection = useCall("data.inspect", { path, map });
  const { state, error, reload } = inspection;
  // A mapping that does not fit is told beside the form, which stays.
  const [known, setKnown] = useState<DataInspection>();
  if (inspection.value !== undefined && inspection.value !== known) setKnown(inspection.value);
  if (known === undefined) return <LoadedView of={inspection}>{() => null}</LoadedView>;
  const mapError = state === "failed" ? error : undefined;
  return <Steps of={known} map={map} onMap={setMap} error={mapError} onAgain={reload} />;
}

interface StepsProps {
  of: DataInspection;
  map: Record<string, string>;
  onMap: (map: Record<string, string>) => void;
  error: unknown;
  onAgain: () => void;
}

function Steps({ of: file, map, onMap, error, onAgain }: StepsProps) {
  const { t } = useTranslation();
  const checking = useReading("data.check");
  const [check, setCheck] = useState<{ key: string; result: DataCheck }>();
  const key = `${file.version} ${JSON.stringify(map)}`;
  const start = useRef(checking.run);
  start.current = checking.run;
  const { path } = file;
  useEffect(() => {
    void start.current({ path, map }).then((result) => {
      if (result !== undefined) setCheck({ key, result });
    });
    // `key` stands for the file's version and the mapping.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [path, key]);
  const result = check?.key === key ? check.result : undefined;
  // A dropped or pasted text has no place of its own that would mean anything.
  const isUpload = useApp(({ info }) => info !== undefined && path.startsWith(`${info.home}/uploads/`));
  // That no column is known is said in the second step, with what to do about it here.
  const known = file.shape === null && file.columns.length > 0 ? [] : file.warnings;
  return (
    <Stack gap="md">
      <Step number={1} title={t("data.import.step.file")}>
        <Text fw={500} style={{ overflowWrap: "anywhere" }}>
          {isUpload ? file.name : file.path}
        </Text>
        <Text>
          {t("data.import.found", {
            format: t(`data.format.${file.format}`),
            rows: formatCount(file.rows),
            size: formatBytes(file.size),
          })}{" "}
          <span className="hone-muted">{t("data.import.formatReason")}</span>
        </Text>
        {known.map((warning) => (
          <Alert key={warning} variant="light" color="orange" icon={<Info size={16} aria-hidden />} p="xs">
            {warning}
          </Alert>
        ))}
      </Step>
      <Step number={2} title={t("data.import.step.columns")}>
        <Reason of={file} mapped={Object.keys(map).length > 0} />
        <MappingForm file={file} map={map} onMap={onMap} />
        {error !== undefined && <ErrorBox error={error} />}
        <PreviewTable file={file} />
      </Step>
      <Step number={3} title={t("data.import.step.check")}>
        <ReadingProgress of={checking} label={t("data.import.checking")} />
        {checking.error !== undefined && <ErrorBox error={checking.error} onRetry={onAgain} />}
        {result !== undefined && <CheckResult of={result} known={file.warnings} />}
      </Step>
      <Step number={4} title={t("data.import.step.copy")}>
        <ImportForm file={file} map={map} check={result} onAgain={onAgain} />
      </Step>
    </Stack>
  );
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Stack gap="sm" className="hone-card" component="section" aria-label={title}>
      <Title order={2} size="h5">
        {number}. {title}
      </Title>
      {children}
    </Stack>
  );
}

/** What the rows are, and by what that is told. */
function Reason({ of: { shape, mapping, columns }, mapped }: { of: DataInspection; mapped: boolean }) {
  const { t } = useTranslation();
  if (shape === null) {
    return <Text role="status">{t("data.import.noShape", { columns: columns.join(", ") })}</Text>;
  }
  const used = Object.values(mapping).join(", ");
  return (
    <Text role="status">
      {t("data.import.shape", { shape: t(`data.shape.${shape}`) })}{" "}
      <span className="hone-muted">
        {t(mapped ? "data.import.reasonMapped" : "data.import.reason", { columns: used })}
      </span>
    </Text>
  );
}

/** `known`: what was said of the file above. */
function CheckResult({
  of: { ok, set_aside, set_aside_count, shapes, warnings },
  known,
}: {
  of: DataCheck;
  known: readonly string[];
}) {
  const { t } = useTranslation();
  const kinds = Object.entries(shapes);
  return (
    <Stack gap="xs">
      <Text role="status">
        <Text span fw={600} c={ok === 0 ? "var(--hone-bad)" : "var(--hone-good)"}>
          {t("data.import.good", { rows: formatCount(ok) })}
        </Text>
        {" · "}
        <Text span fw={600} {...(set_aside_count > 0 && { c: "var(--hone-warn)" })}>
          {t("data.import.aside", { rows: formatCount(set_aside_count) })}
        </Text>
        {kinds.length > 1 &&
          ` · ${kinds.map(([shape, rows]) => `${t(`data.shape.${shape}`)}: ${formatCount(rows)}`).join(", ")}`}
      </Text>
      {warnings
        .filter((warning) => !known.includes(warning))
        .map((warning) => (
          <Text key={warning} size="sm" className="hone-muted">
            {warning}
          </Text>
        ))}
      {set_aside_count > 0 && <SetAsideList entries={set_aside} total={set_aside_count} />}
    </Stack>
  );
}

interface ImportFormProps {
  file: DataInspection;
  map: Record<string, string>;
  check: DataCheck | undefined;
  onAgain: () => void;
}

function ImportForm({ file, map, check, onAgain }: ImportFormProps) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const importing = useReading("data.import");
  const [name, setName] = useState(file.name);
  const { error } = importing;
  const changed = error instanceof HoneError && error.code === "file-changed";
  const copy = async () => {
    const made = await importing.run({ path: file.path, map, name, version: file.version });
    if (made !== undefined) navigate(`/data/${encodeURIComponent(made.name)}`);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void copy();
      }}
    >
      <Stack gap="sm">
        <Text className="hone-muted">{t("data.import.copyText")}</Text>
        <Group align="flex-end">
          <TextInput
            label={t("data.import.name")}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            required
            w={320}
          />
          <Button
            type="submit"
            disabled={check === undefined || check.ok === 0 || name.trim() === ""}
            loading={importing.busy}
          >
            {t("data.import.copy", { rows: check === undefined ? "…" : formatCount(check.ok) })}
          </Button>
        </Group>
        {check !== undefined && check.set_aside_count > 0 && check.ok > 0 && (
          <Text size="sm">{t("data.import.leftOut", { rows: formatCount(check.set_aside_count) })}</Text>
        )}
        <ReadingProgress of={importing} label={t("data.import.copying")} />
        {error !== undefined && errorKind(error) !== "cancelled" && (
          <ErrorBox error={error} {...(changed && { onRetry: onAgain })} />
        )}
      </Stack>
    </form>
  );
}
