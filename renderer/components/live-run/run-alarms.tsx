/** What a run has to say: trouble in plain words, each with one thing to do about it. */

import { Alert, Button, Group, Text } from "@mantine/core";
import { Info, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { RunDetails } from "../../../core/contract/api/run-calls.ts";
import { remedyLink } from "./alarm-remedy.ts";

/** The newest ones; older ones are marks in the charts. */
const mostShown = 3;

export function RunAlarms({ run }: { run: RunDetails }) {
  const { t } = useTranslation();
  const told = run.events.filter(
    ({ kind, action }) => kind === "alarm" || kind === "failure" || (kind === "info" && action !== undefined),
  );
  return (
    <>
      {told
        .slice(-mostShown)
        .reverse()
        .map(({ time, step, kind, name, message, action }) => {
          const remedy = remedyLink(name, run);
          const isTrouble = kind !== "info";
          return (
            <Alert
              key={`${time} ${name}`}
              color={isTrouble ? "orange" : "steel"}
              variant="light"
              icon={isTrouble ? <TriangleAlert size={18} aria-hidden /> : <Info size={18} aria-hidden />}
              title={t(`train.alarm.${name}.title`, { defaultValue: name.replaceAll("_", " ") })}
              role="status"
            >
              <Group justify="space-between" align="flex-end" gap="sm">
                <div style={{ flex: "1 1 320px" }}>
                  <Text size="sm">
                    {t("train.alarmAt", { step, message: t(`train.alarm.${name}.message`, { defaultValue: message }) })}
                  </Text>
                  {action !== undefined && (
                    <Text size="sm" fw={500}>
                      {t(`train.alarm.${name}.action`, { defaultValue: action })}
                    </Text>
                  )}
                </div>
                {remedy !== undefined && (
                  <Button component={Link} href={remedy.href} size="compact-sm" variant="default">
                    {t(`train.remedy.${remedy.kind}`, { value: remedy.value })}
                  </Button>
                )}
              </Group>
            </Alert>
          );
        })}
    </>
  );
}
