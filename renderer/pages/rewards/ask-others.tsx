/** What judges and services would be asked, before any of them is. */

import { Button, Group, Modal, Stack, Table, Text } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import type { LabStore } from "../../stores/lab-store.ts";

export function AskOthers({ store, onClose }: { store: LabStore; onClose: () => void }) {
  const { t } = useTranslation();
  const { path, text, source, run } = useStore(store);
  const cost = useCall(
    "rewards.cost",
    { path, text, source: source ?? { kind: "hand", samples: [{ prompt: "", completion: "" }] } },
    { enabled: source !== null },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={t("rewards.cost.title")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <Stack>
        <LoadedView of={cost}>
          {({ judges }) => (
            <Table aria-label={t("rewards.cost.title")}>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{t("rewards.cost.part")}</Table.Th>
                  <Table.Th>{t("rewards.cost.where")}</Table.Th>
                  <Table.Th>{t("rewards.cost.calls")}</Table.Th>
                  <Table.Th>{t("rewards.cost.tokens")}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {judges.map(({ name, url, model, local, calls, prompt_tokens }) => (
                  <Table.Tr key={name}>
                    <Table.Td>{name}</Table.Td>
                    <Table.Td style={{ overflowWrap: "anywhere" }}>
                      {url} {model}
                      <Text size="xs" c={local ? undefined : "var(--hone-warn)"}>
                        {local ? t("rewards.cost.local") : t("rewards.cost.remote")}
                      </Text>
                    </Table.Td>
                    <Table.Td className="hone-numbers">{t("rewards.cost.upTo", { count: calls })}</Table.Td>
                    <Table.Td className="hone-numbers">
                      {prompt_tokens === 0 ? "–" : `≈ ${formatCount(prompt_tokens)}`}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </LoadedView>
        <Text size="sm" className="hone-muted">
          {t("rewards.cost.text")}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t("common.cancel")}
          </Button>
          <Button
            disabled={cost.state !== "ready"}
            onClick={() => {
              onClose();
              void run({ judges: true });
            }}
          >
            {t("rewards.cost.run")}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
