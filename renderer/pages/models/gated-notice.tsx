/** A model that is given out only to those whom its authors let in: what that means, where to ask, and the token. */

import { Alert, Button, Group, List, PasswordInput, Stack, Text } from "@mantine/core";
import { Lock } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ErrorData } from "../../../core/contract/errors.ts";
import { hubSourceLabels, type Gated, type HubSourceName } from "../../../core/contract/hub.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { useAction } from "../../components/use-action.tsx";

const hubPages: Record<HubSourceName, { repo: (id: string) => string; tokens: string }> = {
  huggingface: { repo: (id) => `https://huggingface.co/${id}`, tokens: "https://huggingface.co/settings/tokens" },
  modelscope: {
    repo: (id) => `https://www.modelscope.cn/models/${id}`,
    tokens: "https://www.modelscope.cn/my/myaccesstoken",
  },
};

interface GatedNoticeProps {
  source: HubSourceName;
  id: string;
  gated?: Gated;
  /** Why it cannot be read now; null: it can. */
  problem?: ErrorData | null;
  /** A token was kept: what was refused may be asked again. */
  onChanged: () => void;
}

export function GatedNotice({ source, id, gated = false, problem = null, onChanged }: GatedNoticeProps) {
  const { t } = useTranslation();
  const api = useApi();
  const tokens = useCall("tokens.list", {});
  const [typed, setTyped] = useState("");
  const { run, busy, problem: failed } = useAction();
  const hub = hubSourceLabels[source];
  const isSet = tokens.value?.tokens.find(({ name }) => name === source)?.set === true;
  const state =
    problem === null ? "open" : problem.code === "not-signed-in" ? "wrongToken" : isSet ? "notLetIn" : "noToken";
  const pages = hubPages[source];
  return (
    <Alert
      color={state === "open" ? "teal" : "orange"}
      variant="light"
      icon={<Lock size={18} aria-hidden />}
      title={t(`hub.gated.title.${state}`)}
      role="status"
    >
      <Stack gap="xs">
        <Text size="sm">{t(`hub.gated.text.${state}`, { hub })}</Text>
        {state !== "open" && (
          <>
            <List size="sm" type="ordered" spacing={4}>
              <List.Item>
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => void api.shell.openExternal(pages.repo(id.split("@")[0] ?? id))}
                >
                  {t("hub.gated.licence")}
                </Button>{" "}
                {t(gated === "manual" ? "hub.gated.manual" : "hub.gated.auto")}
              </List.Item>
              <List.Item>
                <Button size="compact-sm" variant="default" onClick={() => void api.shell.openExternal(pages.tokens)}>
                  {t("hub.gated.makeToken")}
                </Button>{" "}
                {t("hub.gated.readOnly")}
              </List.Item>
              <List.Item>{t("hub.gated.paste")}</List.Item>
            </List>
            <form
              onSubmit={(event) => {
                event.preventDefault();
                run(async () => {
                  await api.call("tokens.set", { name: source, value: typed });
                  setTyped("");
                  tokens.reload();
                  onChanged();
                });
              }}
            >
              <Group align="flex-end" gap="xs" wrap="nowrap">
                <PasswordInput
                  flex={1}
                  label={t("hub.gated.token", { hub })}
                  value={typed}
                  onChange={(event) => setTyped(event.currentTarget.value)}
                  autoComplete="off"
                  visibilityToggleButtonProps={{ "aria-label": t("settings.tokens.show", { hub }) }}
                />
                <Button type="submit" loading={busy} disabled={typed.trim() === ""}>
                  {t("hub.gated.keep")}
                </Button>
              </Group>
            </form>
            {failed}
            <Group gap="xs">
              <Button size="compact-sm" variant="subtle" onClick={onChanged}>
                {t("hub.gated.again")}
              </Button>
            </Group>
            {tokens.value !== undefined && (
              <Text size="xs" className="hone-muted">
                {t(`settings.tokens.place.${tokens.value.place}`, { file: tokens.value.file })}
              </Text>
            )}
          </>
        )}
      </Stack>
    </Alert>
  );
}
