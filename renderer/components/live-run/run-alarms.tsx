/** What a run has to say: trouble in plain words, each with one thing to do about it. */

import { Alert, Text } from "@mantine/core";
import { Info, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { RunEvent } from "../../../core/contract/run.ts";

/** The newest ones; older ones are marks in the charts. */
const mostShown = 3;

export function RunAlarms({ events }: { events: readonly RunEvent[] }) {
  const { t } = useTranslation();
  const told = events.filter(({ kind, action }) => kind === "alarm" || (kind === "info" && action !== undefined));
  return (
    <>
      {told
        .slice(-mostShown)
        .reverse()
        .map(({ time, step, kind, name, message, action }) => (
          <Alert
            key={`${time} ${name}`}
            color={kind === "alarm" ? "orange" : "steel"}
            variant="light"
            icon={kind === "alarm" ? <TriangleAlert size={18} aria-hidden /> : <Info size={18} aria-hidden />}
            title={t(`train.alarm.${name}.title`, { defaultValue: name.replaceAll("_", " ") })}
            role="status"
          >
            <Text size="sm">
              {t("train.alarmAt", { step, message: t(`train.alarm.${name}.message`, { defaultValue: message }) })}
            </Text>
            {action !== undefined && (
              <Text size="sm" fw={500}>
                {t(`train.alarm.${name}.action`, { defaultValue: action })}
              </Text>
            )}
          </Alert>
        ))}
    </>
  );
}
