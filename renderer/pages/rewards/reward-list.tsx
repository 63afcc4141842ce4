/** All rewards: those of one's own, and examples to begin from. */

import {
  ActionIcon,
  Badge,
  Button,
  Group,
  Menu,
  Modal,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { Copy, EllipsisVertical, FolderOpen, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "wouter";
import type { ListedReward } from "../../../core/contract/api/reward-calls.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { DeleteDialog } from "../../components/delete-dialog.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { Page } from "../../components/page.tsx";
import { usePickPath } from "../../components/use-pick-path.tsx";
import { formatTime } from "../../i18n/i18n.ts";
import { NewReward } from "./new-reward.tsx";
import { labLink } from "./reward-links.ts";

export function RewardList() {
  const { t } = useTranslation();
  const loaded = useCall("rewards.list", {}, { follow: "rewards" });
  const [, navigate] = useLocation();
  const [making, setMaking] = useState(false);
  const { pick, dialog } = usePickPath();
  const openFile = async () => {
    const [path] = await pick({ kind: "file", title: t("rewards.open"), extensions: ["json", "ts", "js", "py"] });
    if (path !== undefined) navigate(labLink(path));
  };
  return (
    <Page
      title={t("nav.rewards")}
      lead={t("rewards.lead")}
      actions={
        <>
          <Button variant="default" leftSection={<FolderOpen size={16} aria-hidden />} onClick={() => void openFile()}>
            {t("rewards.open")}
          </Button>
          <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
            {t("rewards.new")}
          </Button>
        </>
      }
    >
      {dialog}
      <NewReward opened={making} onClose={() => setMaking(false)} />
      <LoadedView of={loaded}>
        {({ rewards }) => {
          const own = rewards.filter(({ example }) => !example);
          return (
            <>
              {own.length === 0 ? (
                <EmptyState
                  title={t("rewards.empty.title")}
                  action={
                    <Button leftSection={<Plus size={16} aria-hidden />} onClick={() => setMaking(true)}>
                      {t("rewards.new")}
                    </Button>
                  }
                >
                  {t("rewards.empty.text")}
                </EmptyState>
              ) : (
                <Cards title={t("rewards.own")} rewards={own} />
              )}
              <Cards title={t("rewards.examples")} rewards={rewards.filter(({ example }) => example)} />
            </>
          );
        }}
      </LoadedView>
    </Page>
  );
}

function Cards({ title, rewards }: { title: string; rewards: readonly ListedReward[] }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        {title}
      </Title>
      <SimpleGrid cols={{ base: 2, lg: 3 }} spacing="sm">
        {rewards.map((reward) => (
          <RewardCard key={reward.path} reward={reward} />
        ))}
      </SimpleGrid>
    </Stack>
  );
}

function RewardCard({ reward }: { reward: ListedReward }) {
  const { t } = useTranslation();
  const { name, path, kind, parts, problem, example, modified } = reward;
  return (
    <Stack gap={6} className="hone-card">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Text component={Link} href={labLink(path)} fw={600} c="steel" style={{ overflowWrap: "anywhere" }}>
          {name}
        </Text>
        <Group gap={4} wrap="nowrap">
          <Badge size="sm" variant="light" color="gray" autoContrast>
            {t(`rewards.kind.${kind}`)}
          </Badge>
          <RewardActions reward={reward} />
        </Group>
      </Group>
      <Text size="sm" className="hone-muted">
        {example ? t(`rewards.exampleText.${kind}`) : t("rewards.modified", { time: formatTime(modified) })}
      </Text>
      {problem !== null && (
        <Text size="sm" c="var(--hone-bad)">
          {t("rewards.problem", { problem })}
        </Text>
      )}
      {parts.length > 0 && (
        <Group gap={4}>
          {parts.map((part) => (
            <Badge key={part.name} size="sm" variant="default" tt="none">
              {part.weight} × {part.name}
            </Badge>
          ))}
        </Group>
      )}
    </Stack>
  );
}

function RewardActions({ reward: { name, path, kind, example } }: { reward: ListedReward }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const [asking, setAsking] = useState<"rename" | "copy" | null>(null);
  const [deleting, setDeleting] = useState(false);
  const stem = name.replace(/\.\w+$/, "");
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>();
  const ask = (what: "rename" | "copy") => {
    setText(what === "copy" ? t("rewards.copyName", { name: stem }) : stem);
    setError(undefined);
    setAsking(what);
  };
  const act = async () => {
    try {
      if (asking === "rename") await api.call("rewards.rename", { path, name: text });
      if (asking === "copy") {
        const { text: content } = await api.call("rewards.read", { path });
        const made = await api.call("rewards.create", { name: text, kind, text: content });
        navigate(labLink(made.path));
      }
      setAsking(null);
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t("rewards.actions", { name })}>
            <EllipsisVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Copy size={14} aria-hidden />} onClick={() => ask("copy")}>
            {t("rewards.copy")}
          </Menu.Item>
          {!example && (
            <>
              <Menu.Item leftSection={<Pencil size={14} aria-hidden />} onClick={() => ask("rename")}>
                {t("rewards.rename")}
              </Menu.Item>
              <Menu.Item color="red" leftSection={<Trash2 size={14} aria-hidden />} onClick={() => setDeleting(true)}>
                {t("common.delete")}
              </Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <Modal
        opened={asking !== null}
        onClose={() => setAsking(null)}
        title={asking === null ? "" : t(`rewards.ask.${asking}`, { name })}
        closeButtonProps={{ "aria-label": t("common.close") }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void act();
          }}
        >
          <Stack>
            <TextInput
              label={t("rewards.name")}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              data-autofocus
            />
            {error !== undefined && <ErrorBox error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={() => setAsking(null)}>
                {t("common.cancel")}
              </Button>
              <Button type="submit">{t("common.save")}</Button>
            </Group>
          </Stack>
        </form>
      </Modal>
      {deleting && (
        <DeleteDialog
          title={t("rewards.ask.delete", { name })}
          remove={() => api.call("rewards.delete", { path })}
          onClose={() => setDeleting(false)}
        >
          <Text size="sm">{t("rewards.deleteText")}</Text>
        </DeleteDialog>
      )}
    </>
  );
}
