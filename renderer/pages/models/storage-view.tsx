/** What takes space: the places, what broken downloads have left, and moving the models folder to another disk. */

import { ActionIcon, Button, Group, Progress, Stack, Table, Text, Title, Tooltip } from "@mantine/core";
import { X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { StorageListing } from "../../../core/contract/hub.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import { useApi, useApp, useCall } from "../../app/hone-context.tsx";
import { useAction } from "../../components/use-action.tsx";
import { MoveDialog } from "./move-dialog.tsx";

export function StorageView({ listing }: { listing: StorageListing }) {
  const { t } = useTranslation();
  const api = useApi();
  const folders = useApp((state) => state.settings?.model_folders) ?? [];
  const { run, problem } = useAction();
  const total = listing.places.reduce((sum, { bytes }) => sum + bytes, 0);
  return (
    <Stack gap="sm" component="section" aria-label={t("models.space.title")} className="hone-card">
      <Group justify="space-between">
        <Title order={2} size="h5">
          {t("models.space.title")}
        </Title>
        <MoveFolder />
      </Group>
      <Table.ScrollContainer minWidth={640} type="native">
        <Table fz="sm" aria-label={t("models.space.title")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("models.column.place")}</Table.Th>
              <Table.Th>{t("models.fact.path")}</Table.Th>
              <Table.Th w={120} />
              <Table.Th ta="right">{t("models.column.size")}</Table.Th>
              <Table.Th ta="right">{t("models.space.free")}</Table.Th>
              <Table.Th>
                <span className="hone-unseen">{t("models.column.actions")}</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {listing.places.map(({ place, path, bytes, free_bytes: free, read_only: readOnly }) => (
              <Table.Tr key={path}>
                <Table.Td>
                  {t(`models.place.${place}`)}
                  {readOnly && (
                    <Text size="xs" className="hone-muted">
                      {t("models.space.readOnly")}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td style={{ overflowWrap: "anywhere" }}>{path}</Table.Td>
                <Table.Td>
                  <Progress value={(100 * bytes) / Math.max(1, total)} size="sm" aria-label={path} />
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatBytes(bytes)}
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatBytes(free)}
                </Table.Td>
                <Table.Td>
                  {folders.includes(path) && (
                    <Tooltip label={t("settings.folders.remove", { folder: path })}>
                      <ActionIcon
                        variant="subtle"
                        size="sm"
                        aria-label={t("settings.folders.remove", { folder: path })}
                        onClick={() =>
                          run(() =>
                            api.call("settings.set", { model_folders: folders.filter((other) => other !== path) }),
                          )
                        }
                      >
                        <X size={14} aria-hidden />
                      </ActionIcon>
                    </Tooltip>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {problem}
      <Leftovers />
    </Stack>
  );
}

/** What downloads that did not end have left. Those that still go on are not among them. */
function Leftovers() {
  const { t } = useTranslation();
  const api = useApi();
  const found = useCall("models.leftovers", {}, { follow: "models" });
  const { run, busy, problem } = useAction();
  const leftovers = found.value ?? [];
  if (leftovers.length === 0) return null;
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm">
          {t("models.space.leftovers", {
            count: leftovers.length,
            bytes: formatBytes(leftovers.reduce((sum, { bytes }) => sum + bytes, 0)),
          })}
        </Text>
        <Button
          size="compact-sm"
          variant="default"
          loading={busy}
          onClick={() => run(() => api.call("models.clean_up", {}).then(() => found.reload()))}
        >
          {t("models.space.cleanUp")}
        </Button>
      </Group>
      <Table fz="xs" verticalSpacing={2} aria-label={t("models.space.leftoverList")}>
        <Table.Tbody>
          {leftovers.slice(0, 20).map(({ path, id, bytes, modified }) => (
            <Table.Tr key={path}>
              <Table.Td>{id}</Table.Td>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{path}</Table.Td>
              <Table.Td ta="right" className="hone-numbers">
                {formatBytes(bytes)}
              </Table.Td>
              <Table.Td className="hone-numbers">{new Date(modified).toLocaleDateString()}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {problem}
    </Stack>
  );
}

function MoveFolder() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const unfinished = useCall("models.unfinished_move", {}, { follow: "models" });
  const move = unfinished.value ?? null;
  return (
    <>
      <Button size="compact-sm" variant={move === null ? "default" : "filled"} onClick={() => setOpen(true)}>
        {move === null ? t("models.move.button") : t("models.move.goOn")}
      </Button>
      {open && (
        <MoveDialog
          unfinished={move}
          onClose={() => {
            setOpen(false);
            unfinished.reload();
          }}
        />
      )}
    </>
  );
}
