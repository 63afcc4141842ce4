/** A new reward: of built-in parts, in TypeScript, or a program. */

import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import type { RewardKind } from "../../../core/contract/api/reward-calls.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ChoiceCards } from "../../components/choice-cards.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { labLink } from "./reward-links.ts";

const kinds: readonly RewardKind[] = ["parts", "script", "program"];

export function NewReward({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const api = useApi();
  const [, navigate] = useLocation();
  const [name, setName] = useState("");
  const [kind, setKind] = useState<RewardKind>("parts");
  const [error, setError] = useState<unknown>();
  const make = async () => {
    try {
      const { path } = await api.call("rewards.create", { name, kind });
      onClose();
      navigate(labLink(path));
    } catch (failed) {
      setError(failed);
    }
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t("rewards.new")}
      size="lg"
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Stack>
          <TextInput
            label={t("rewards.name")}
            placeholder={t("rewards.namePlaceholder")}
            value={name}
            onChange={(event) => {
              setName(event.currentTarget.value);
              setError(undefined);
            }}
            data-autofocus
            required
          />
          <ChoiceCards
            label={t("rewards.kindLabel")}
            value={kind}
            onChange={setKind}
            choices={kinds.map((value) => ({
              value,
              title: t(`rewards.kind.${value}`),
              text: t(`rewards.kindText.${value}`),
            }))}
          />
          {error !== undefined && <ErrorBox error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" disabled={name.trim() === ""}>
              {t("rewards.create")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
