import { Button, Group, PasswordInput, Stack, Text } from "@mantine/core";
import { Check } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { TokenList } from "../../../core/contract/api/app-calls.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { useAction } from "../../components/use-action.tsx";
import { SettingsSection } from "./settings-section.tsx";

/** Access tokens for models that ask for one. They are written and removed here, and never shown again. */
export function TokenSettings() {
  const { t } = useTranslation();
  const tokens = useCall("tokens.list", {});
  return (
    <SettingsSection title={t("settings.tokens.title")}>
      <Text size="sm" className="hone-muted">
        {t("settings.tokens.lead")}
      </Text>
      <LoadedView of={tokens}>
        {(list) => (
          <>
            {list.tokens.map((token) => (
              <TokenField key={token.name} token={token} onChanged={tokens.reload} />
            ))}
            <Text size="sm">{t(`settings.tokens.place.${list.place}`, { file: list.file })}</Text>
          </>
        )}
      </LoadedView>
    </SettingsSection>
  );
}

function TokenField({
  token: { name, set },
  onChanged,
}: {
  token: TokenList["tokens"][number];
  onChanged: () => void;
}) {
  const { t } = useTranslation();
  const api = useApi();
  const [typed, setTyped] = useState("");
  const { run, busy, problem } = useAction();
  const hub = t(`settings.tokens.hubs.${name}`);
  const write = (value: string | null) => {
    run(async () => {
      await api.call("tokens.set", { name, value });
      setTyped("");
      onChanged();
    });
  };
  return (
    <Stack gap="xs">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          write(typed);
        }}
      >
        <Group gap="xs" align="flex-end" wrap="nowrap">
          <PasswordInput
            flex={1}
            label={hub}
            placeholder={set ? t("settings.tokens.isSet") : t("settings.tokens.notSet")}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": t("settings.tokens.show", { hub }) }}
            leftSection={set && <Check size={14} aria-hidden />}
          />
          <Button
            type="submit"
            variant="default"
            loading={busy}
            disabled={typed.trim() === ""}
            aria-label={t("settings.tokens.keepFor", { hub })}
          >
            {t("settings.tokens.keep")}
          </Button>
          <Button
            variant="subtle"
            color="red"
            disabled={!set || busy}
            aria-label={t("settings.tokens.removeFor", { hub })}
            onClick={() => write(null)}
          >
            {t("settings.tokens.remove")}
          </Button>
        </Group>
      </form>
      {problem}
    </Stack>
  );
}
