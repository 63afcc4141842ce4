/** What is learnt, by which model, in which way. */

import { Button, Group, Input, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { FolderOpen } from "lucide-react";
import { useTranslation } from "react-i18next";
import { isRl, methods, type Method } from "../../../core/contract/config.ts";
import { useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { methodOf, type CheckedForm, type Given, type TrainForm } from "../../stores/train-form.ts";
import { useFieldError } from "./option-field.tsx";
import classes from "./train.module.css";

export interface FormPart {
  form: TrainForm;
  given: Given;
  checked: CheckedForm;
}

export function SubjectFields({ form, given, checked }: FormPart) {
  const { t } = useTranslation();
  const errorText = useFieldError();
  const method = methodOf(given);
  const model = typeof given.model === "string" && given.model !== "" ? given.model : null;
  return (
    <Stack gap="md" className="hone-card">
      <div className={classes.pair}>
        <TaskField form={form} given={given} checked={checked} />
        <ModelPicker
          label={t("train.model")}
          value={model}
          onChange={(reference) => form.set("model", reference)}
          error={model === null ? t("train.error.empty") : errorText(checked.errors.model)}
        />
      </div>
      <Input.Wrapper label={t("train.method.label")} labelElement="div">
        <SegmentedControl
          fullWidth
          aria-label={t("train.method.label")}
          data={methods.map((value) => ({ value, label: value.toUpperCase() }))}
          value={method}
          onChange={(value) => form.set("method", value)}
        />
        <Text size="sm" className="hone-muted" mt={6} role="status">
          {t(`train.method.${method}`)}
        </Text>
      </Input.Wrapper>
      <MethodWarning task={typeof given.task === "string" ? given.task : ""} method={method} />
      {isRl(method) && <RewardField form={form} given={given} checked={checked} />}
    </Stack>
  );
}

function TaskField({ form, given, checked }: FormPart) {
  const { t } = useTranslation();
  const errorText = useFieldError();
  const tasks = useCall("tasks.list", {}, { follow: "tasks" });
  const data = useCall("data.list", {}, { follow: "datasets" });
  const { pick, dialog } = usePickPath();
  const value = typeof given.task === "string" && given.task !== "" ? given.task : null;
  const groups = [
    {
      group: t("train.tasks"),
      items: (tasks.value?.tasks ?? [])
        .filter(({ problem }) => problem === null)
        .map(({ reference, title }) => ({ value: reference, label: title })),
    },
    {
      group: t("train.datasets"),
      items: (data.value?.datasets ?? []).map(({ name }) => ({ value: name, label: name })),
    },
  ];
  const isKnown = groups.some(({ items }) => items.some((item) => item.value === value));
  const shown = [
    ...groups.filter(({ items }) => items.length > 0),
    ...(value !== null && !isKnown ? [{ group: t("train.file"), items: [{ value, label: value }] }] : []),
  ];
  const choose = (task: string | undefined) => {
    if (task === undefined) return;
    for (const name of ["reward", "map", "group"] as const) form.set(name, undefined);
    form.set("task", task);
  };
  const failed = tasks.state === "failed" ? tasks : data.state === "failed" ? data : undefined;
  return (
    <Stack gap={4}>
      <Select
        label={t("train.task")}
        data={shown}
        value={value}
        onChange={(task) => choose(task ?? undefined)}
        searchable
        maxDropdownHeight={360}
        nothingFoundMessage={t("train.noTask")}
        placeholder={tasks.state === "loading" ? t("common.loading") : t("train.chooseTask")}
        error={value === null ? t("train.error.empty") : errorText(checked.errors.task)}
      />
      <Group>
        <Button
          size="compact-xs"
          variant="subtle"
          leftSection={<FolderOpen size={12} aria-hidden />}
          onClick={() =>
            void pick({
              kind: "file",
              title: t("train.openData"),
              extensions: ["jsonl", "json", "csv", "parquet"],
            }).then(([path]) => choose(path))
          }
        >
          {t("train.openData")}
        </Button>
      </Group>
      {dialog}
      {failed !== undefined && <ErrorBox error={failed.error} onRetry={failed.reload} />}
    </Stack>
  );
}

/** A task that has not what the method learns from. */
function MethodWarning({ task, method }: { task: string; method: Method }) {
  const { t } = useTranslation();
  const known = useCall("tasks.list", {}, { follow: "tasks" }).value?.tasks.some((one) => one.reference === task);
  const details = useCall("tasks.read", { task }, { enabled: known === true, follow: "tasks" });
  const needed = isRl(method) ? "rl" : method === "dpo" ? "dpo" : "sft";
  if (known !== true || details.value?.reference !== task || details.value.methods.includes(needed)) return null;
  return (
    <Text size="sm" c="var(--hone-warn)" role="status">
      {t(`train.lacks.${needed}`)}
    </Text>
  );
}

function RewardField({ form, given, checked }: FormPart) {
  const { t } = useTranslation();
  const errorText = useFieldError();
  const listed = useCall("rewards.list", {}, { follow: "rewards" });
  const value = typeof given.reward === "string" ? given.reward : "";
  const own = (listed.value?.rewards ?? []).filter(({ example, problem }) => !example && problem === null);
  const items = [
    { value: "", label: t("train.ownReward") },
    ...own.map(({ path, name }) => ({ value: path, label: name })),
    ...(value !== "" && !own.some(({ path }) => path === value) ? [{ value, label: value }] : []),
  ];
  return (
    <Select
      label={t("train.reward")}
      description={t("train.rewardAbout")}
      data={items}
      value={value}
      onChange={(path) => form.set("reward", path === null || path === "" ? undefined : path)}
      error={errorText(checked.errors.reward)}
    />
  );
}
