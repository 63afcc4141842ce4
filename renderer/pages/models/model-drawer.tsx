/** One model on this machine: what it is, what it needs, what may be done with it. */

import { Button, Drawer, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { ModelDetails } from "../../../core/contract/api/model-calls.ts";
import { errorFromData } from "../../../core/contract/errors.ts";
import { hubSourceLabels, type FitReport, type LocalModel } from "../../../core/contract/hub.ts";
import { formatBytes, formatCount } from "../../../core/contract/units.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { JobProgress } from "../../components/job-progress.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { OpenLinks } from "../../components/download-card.tsx";
import { Term } from "../../components/term.tsx";
import { useJob } from "../../components/use-job.ts";
import { formatTime } from "../../i18n/i18n.ts";
import { FitView } from "./fit-view.tsx";
import { isUsable, OpensBadge } from "./local-view.tsx";
import { repoLink } from "./model-texts.ts";
import { RemoveDialog } from "./remove-dialog.tsx";

export function ModelDrawer({ model, onClose }: { model: LocalModel; onClose: () => void }) {
  const { t } = useTranslation();
  const { shell } = useApi();
  const [removing, setRemoving] = useState(false);
  const details = useCall("models.details", { reference: model.reference }, { enabled: isUsable(model) });
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={
        <Text fw={600} component="span">
          {model.name}
        </Text>
      }
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack>
        <Group gap="xs">
          <OpensBadge model={model} />
          <Text size="sm" className="hone-muted">
            {t(`models.place.${model.place}`)}
          </Text>
        </Group>
        <WhyNot model={model} />
        {isUsable(model) && (
          <Group gap="xs">
            <OpenLinks reference={model.reference} />
            <Button component={Link} href="/tasks" size="compact-sm" variant="default">
              {t("models.evaluate")}
            </Button>
          </Group>
        )}
        <Facts model={model} {...(details.value !== undefined && { details: details.value })} />
        {isUsable(model) && (
          <LoadedView of={details}>
            {({ fit, fit_problem: problem }) =>
              fit === null ? (
                problem !== null && <ErrorBox error={errorFromData(problem)} />
              ) : (
                <Fit reference={model.reference} fit={fit} />
              )
            }
          </LoadedView>
        )}
        <Group gap="xs">
          {shell.reveal !== undefined && (
            <Button variant="default" size="compact-sm" onClick={() => void shell.reveal?.(model.path)}>
              {t("settings.folders.reveal")}
            </Button>
          )}
          {model.removable ? (
            <Button variant="light" color="red" size="compact-sm" onClick={() => setRemoving(true)}>
              {t("models.remove.button")}
            </Button>
          ) : (
            <Text size="xs" className="hone-muted">
              {t("models.remove.readOnly")}
            </Text>
          )}
        </Group>
      </Stack>
      {removing && <RemoveDialog model={model} onClose={() => setRemoving(false)} onRemoved={onClose} />}
    </Drawer>
  );
}

/** Why it cannot be used, with the way out. */
function WhyNot({ model: { complete, missing, unsupported, ref } }: { model: LocalModel }) {
  const { t } = useTranslation();
  if (!complete) {
    return (
      <Stack gap="xs" className="hone-card" role="status">
        <Text size="sm">
          {missing.length === 0 ? t("models.partial.running") : t("models.partial.missing", { count: missing.length })}
        </Text>
        {ref !== null && (
          <Group>
            <Button component={Link} href={repoLink(ref.source, ref.id)} size="compact-sm">
              {t("models.partial.goOn")}
            </Button>
          </Group>
        )}
      </Stack>
    );
  }
  if (unsupported === null) return null;
  return (
    <Text size="sm" className="hone-card">
      {t("models.fit.unsupported", { why: unsupported })}
    </Text>
  );
}

function Facts({ model, details }: { model: LocalModel; details?: ModelDetails }) {
  const { t } = useTranslation();
  const date = (text: string | null) => (text === null ? "–" : formatTime(text));
  const rows: [string, string][] = [
    ["architecture", model.architecture ?? "–"],
    ["parameters", model.parameters === null ? "–" : formatCount(model.parameters)],
    ["quant", [model.format, model.quant].filter((part) => part !== null).join(" · ")],
    ["size", formatBytes(model.bytes)],
    ...(details === undefined
      ? []
      : ([
          [
            "context",
            details.fit?.context_length == null
              ? "–"
              : t("models.facts.context", { tokens: formatCount(details.fit.context_length) }),
          ],
          ["licence", details.licence ?? t("models.facts.licenceUnknown")],
          ["template", templateWords(details, t)],
          ["tools", details.tool_format ?? "–"],
        ] as [string, string][])),
    ["source", model.ref === null ? "–" : `${hubSourceLabels[model.ref.source]} · ${model.ref.id}`],
    ["commit", model.commit === null ? "–" : model.commit.slice(0, 12)],
    ["modified", date(model.modified)],
    ["used", date(model.last_used)],
    ["path", model.path],
  ];
  return (
    <Table fz="sm" verticalSpacing={4} variant="vertical" aria-label={t("models.details")}>
      <Table.Tbody>
        {rows.map(([key, value]) => (
          <Table.Tr key={key}>
            <Table.Th w={150}>
              {terms[key] === undefined ? (
                t(`models.fact.${key}`)
              ) : (
                <Term name={terms[key]}>{t(`models.fact.${key}`)}</Term>
              )}
            </Table.Th>
            <Table.Td style={{ overflowWrap: "anywhere" }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

const terms: Partial<Record<string, string>> = {
  architecture: "architecture",
  parameters: "parameters",
  quant: "quantisation",
  context: "context_length",
  template: "chat_template",
  tools: "tool_call",
};

function templateWords(
  { template, template_problem: problem, thinks }: ModelDetails,
  t: ReturnType<typeof useTranslation>["t"],
): string {
  if (!template) return problem === null ? "–" : problem.message;
  return thinks ? `${t("models.facts.template")} · ${t("models.facts.thinks")}` : t("models.facts.template");
}

/** What it needs; how fast it is can be measured, for it is here. */
function Fit({ reference, fit }: { reference: string; fit: FitReport }) {
  const { t } = useTranslation();
  const [measured, setMeasured] = useState<FitReport | null>(null);
  const job = useJob((result) => setMeasured(result as FitReport));
  return (
    <Stack gap="xs" component="section" aria-label={t("models.fit.title")}>
      <Title order={2} size="h5">
        {t("models.fit.title")}
      </Title>
      <FitView fit={measured ?? fit} />
      <Group>
        <Button
          size="compact-sm"
          variant="default"
          loading={job.busy}
          onClick={() => void job.start("models.measure", { reference })}
        >
          {t("models.fit.measure")}
        </Button>
      </Group>
      <JobProgress of={job} />
    </Stack>
  );
}
