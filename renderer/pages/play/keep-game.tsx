/** Keeps moves of this game as rows of a dataset. */

import { Anchor, Button, Checkbox, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PlaySide } from "../../../core/contract/api/play-calls.ts";
import { useApi } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { usePlay } from "./use-play.ts";

export function KeepGame({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const api = useApi();
  const moves = usePlay((state) => state.moves);
  const modelSide = usePlay((state) => state.modelSide);
  const [dataset, setDataset] = useState("my-games");
  const [sides, setSides] = useState<PlaySide[]>(["x", "o"]);
  const [bestOnly, setBestOnly] = useState(true);
  const [error, setError] = useState<unknown>();
  const toggle = (side: PlaySide) =>
    setSides(sides.includes(side) ? sides.filter((one) => one !== side) : [...sides, side]);
  const keep = async () => {
    setError(undefined);
    try {
      const kept = await api.call("play.keep", { dataset, moves, sides, best_only: bestOnly });
      notifications.show({
        color: "teal",
        message: (
          <>
            {t("play.keep.done", { count: kept.kept, dataset: kept.dataset, rows: kept.rows })}{" "}
            <Anchor href={`#/data/${encodeURIComponent(kept.dataset)}`}>{t("play.keep.show")}</Anchor>
          </>
        ),
      });
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const model = modelSide.toUpperCase();
  const other = modelSide === "x" ? "O" : "X";
  return (
    <Modal opened={opened} onClose={onClose} title={t("play.keep.title")}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <Stack gap="sm">
          <Text size="sm" className="hone-muted">
            {t("play.keep.what")}
          </Text>
          <TextInput
            label={t("play.keep.dataset")}
            value={dataset}
            onChange={(event) => setDataset(event.currentTarget.value)}
            required
            data-autofocus
          />
          <Checkbox
            label={t("play.keep.modelMoves", { side: model })}
            checked={sides.includes(modelSide)}
            onChange={() => toggle(modelSide)}
          />
          <Checkbox
            label={t("play.keep.otherMoves", { side: other })}
            checked={sides.includes(modelSide === "x" ? "o" : "x")}
            onChange={() => toggle(modelSide === "x" ? "o" : "x")}
          />
          <Checkbox
            label={t("play.keep.bestOnly")}
            checked={bestOnly}
            onChange={(event) => setBestOnly(event.currentTarget.checked)}
          />
          {error !== undefined && <ErrorBox error={error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("common.cancel")}
            </Button>
            <Button type="submit" disabled={dataset.trim() === "" || sides.length === 0}>
              {t("play.keep.do")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
