/** Divides a dataset into new ones for training, validation and test. */

import { Anchor, Button, Group, Modal, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { CallResult } from "../../../core/contract/api/api.ts";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { ErrorBox } from "../../components/error-box.tsx";
import { ReadingProgress, useReading } from "./use-reading.tsx";

export function SplitDialog({ view: { name, columns }, onClose }: { view: DatasetView; onClose: () => void }) {
  const { t } = useTranslation();
  const [validation, setValidation] = useState(10);
  const [test, setTest] = useState(10);
  const [seed, setSeed] = useState(42);
  const [group, setGroup] = useState<string | null>(null);
  const [done, setDone] = useState<CallResult<"data.split">>();
  const reading = useReading("data.split");
  const split = async () => {
    setDone(await reading.run({ name, validation: validation / 100, test: test / 100, seed, group }));
  };
  return (
    <Modal opened onClose={onClose} title={t("data.split.title", { name })}>
      {done === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void split();
          }}
        >
          <Stack>
            <Text size="sm">{t("data.split.text", { name })}</Text>
            <Group grow>
              <NumberInput
                label={t("data.split.validation")}
                value={validation}
                onChange={(value) => setValidation(Number(value))}
                min={0}
                max={99}
                suffix=" %"
                data-autofocus
              />
              <NumberInput
                label={t("data.split.test")}
                value={test}
                onChange={(value) => setTest(Number(value))}
                min={0}
                max={99}
                suffix=" %"
              />
            </Group>
            <Group grow>
              <Select
                label={t("data.split.group")}
                description={t("data.split.groupText")}
                data={[...columns]}
                value={group}
                onChange={setGroup}
                placeholder={t("data.split.groupNone")}
                clearable
              />
              <NumberInput
                label={t("data.split.seed")}
                description={t("data.split.seedText")}
                value={seed}
                onChange={(value) => setSeed(Number(value))}
                min={0}
                allowDecimal={false}
              />
            </Group>
            <ReadingProgress of={reading} label={t("data.split.dividing")} />
            {reading.error !== undefined && <ErrorBox error={reading.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {t("common.cancel")}
              </Button>
              <Button
                type="submit"
                loading={reading.busy}
                disabled={validation + test <= 0 || validation + test >= 100}
              >
                {t("data.split.do")}
              </Button>
            </Group>
          </Stack>
        </form>
      ) : (
        <Stack role="status">
          <Text>{t("data.split.done")}</Text>
          {done.parts.map((part) => (
            <Text key={part.name}>
              <Anchor component={Link} href={`/data/${encodeURIComponent(part.name)}`}>
                {part.name}
              </Anchor>
              : {t("data.countAll", { count: part.rows, rows: formatCount(part.rows) })}
            </Text>
          ))}
          <Group justify="flex-end">
            <Button onClick={onClose}>{t("common.close")}</Button>
          </Group>
        </Stack>
      )}
    </Modal>
  );
}
