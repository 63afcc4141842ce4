/** From rows to a training on them: the usual method first. */

import { Button, Group } from "@mantine/core";
import { TrendingUp } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { DataMethod } from "../../../core/contract/api/data-calls.ts";

export function TrainLinks({
  name,
  methods,
  compact = false,
}: {
  name: string;
  methods: readonly DataMethod[];
  compact?: boolean;
}) {
  const { t } = useTranslation();
  const shown = compact ? methods.slice(0, 1) : methods;
  return (
    <Group gap="xs" wrap="nowrap">
      {shown.map((method, i) => (
        <Button
          key={method}
          component={Link}
          href={`/train?data=${encodeURIComponent(name)}&method=${method}`}
          size={compact ? "compact-sm" : "sm"}
          variant={i === 0 && !compact ? "filled" : "default"}
          leftSection={<TrendingUp size={14} aria-hidden />}
          aria-label={t("data.trainOn", { name, method: method.toUpperCase() })}
          title={t(`data.method.${method}`)}
        >
          {t("data.train", { method: method.toUpperCase() })}
        </Button>
      ))}
    </Group>
  );
}
