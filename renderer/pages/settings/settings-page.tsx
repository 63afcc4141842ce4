/** What a person may choose, and what Hone says about itself. Every choice is kept at once. */

import {
  Anchor,
  Button,
  Group,
  Input,
  List,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
} from "@mantine/core";
import { Keyboard } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { languages, themes, type Settings } from "../../../core/contract/api/app-calls.ts";
import { useApi, useApp } from "../../app/hone-context.tsx";
import { openShortcuts } from "../../app/shortcut-list.tsx";
import { Page } from "../../components/page.tsx";
import { useAction } from "../../components/use-action.tsx";
import { FolderSettings } from "./folder-settings.tsx";
import { MachineSettings } from "./machine-settings.tsx";
import { SettingsSection } from "./settings-section.tsx";
import { TokenSettings } from "./token-settings.tsx";

export default function SettingsPage() {
  const { t } = useTranslation();
  const settings = useApp((state) => state.settings);
  const api = useApi();
  const { run, problem } = useAction();
  const change = (more: Partial<Settings>) => {
    run(() => api.call("settings.set", more));
  };
  return (
    <Page
      title={t("nav.settings")}
      lead={t("settings.lead")}
      actions={
        <Button variant="default" leftSection={<Keyboard size={16} aria-hidden />} onClick={openShortcuts}>
          {t("settings.shortcuts")}
        </Button>
      }
    >
      {problem}
      {settings !== undefined && (
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
          <Looks settings={settings} onChange={change} />
          <MachineSettings settings={settings} onChange={change} />
          <FolderSettings settings={settings} onChange={change} />
          <TokenSettings />
          <Privacy />
          <About />
        </SimpleGrid>
      )}
    </Page>
  );
}

export interface SettingsPartProps {
  settings: Settings;
  onChange: (change: Partial<Settings>) => void;
}

function Looks({ settings, onChange }: SettingsPartProps) {
  const { t } = useTranslation();
  return (
    <SettingsSection title={t("settings.looks.title")}>
      <Stack gap={4}>
        <Input.Label id="theme-label">{t("settings.looks.theme")}</Input.Label>
        <SegmentedControl
          aria-labelledby="theme-label"
          value={settings.theme}
          onChange={(theme) => onChange({ theme })}
          data={themes.map((value) => ({ value, label: t(`settings.looks.themes.${value}`) }))}
        />
      </Stack>
      <Select
        label={t("settings.looks.language")}
        value={settings.language ?? "system"}
        onChange={(chosen) => onChange({ language: languages.find((language) => language === chosen) ?? null })}
        data={[
          { value: "system", label: t("settings.looks.systemLanguage") },
          ...languages.map((value) => ({ value, label: t(`settings.looks.languages.${value}`) })),
        ]}
      />
      <Switch
        label={t("settings.looks.expert")}
        description={t("settings.looks.expertHint")}
        checked={settings.expert}
        onChange={(event) => onChange({ expert: event.currentTarget.checked })}
      />
    </SettingsSection>
  );
}

function Privacy() {
  const { t } = useTranslation();
  return (
    <SettingsSection title={t("settings.privacy.title")}>
      <Text size="sm">{t("settings.privacy.lead")}</Text>
      <List size="sm" spacing={4}>
        {["nothingSent", "network", "loopback", "folders"].map((key) => (
          <List.Item key={key}>{t(`settings.privacy.${key}`)}</List.Item>
        ))}
      </List>
    </SettingsSection>
  );
}

function About() {
  const { t } = useTranslation();
  const info = useApp((state) => state.info);
  const api = useApi();
  const link = (url: string, words: ReactNode) => (
    <Anchor size="sm" component="button" type="button" onClick={() => void api.shell.openExternal(url)}>
      {words}
    </Anchor>
  );
  return (
    <SettingsSection title={t("settings.about.title")}>
      {info !== undefined && (
        <Stack gap={2}>
          <Text size="sm">{t("settings.about.version", { version: info.version })}</Text>
          <Text size="sm">{t("settings.about.engine", { version: info.engine_version })}</Text>
          <Text size="sm">{t(`settings.about.host.${info.host}`)}</Text>
        </Stack>
      )}
      <Text size="sm">{t("settings.about.licence")}</Text>
      <Text size="sm" className="hone-muted">
        {t("settings.about.others")}
      </Text>
      <Group gap="md">{link("https://www.apache.org/licenses/LICENSE-2.0", t("settings.about.licenceLink"))}</Group>
    </SettingsSection>
  );
}
