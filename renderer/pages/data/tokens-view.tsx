/** A row as the exact tokens that a model sees; those that a loss would use are coloured and underlined. */

import { Group, Select, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { lossMasks } from "../../../core/contract/config.ts";
import type { TokenView } from "../../../core/contract/data-json.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Term } from "../../components/term.tsx";
import classes from "./data.module.css";

interface TokensViewProps {
  name: string;
  row: number;
  point: number;
  /** What is shown is what was saved. */
  dirty: boolean;
}

type LossMask = (typeof lossMasks)[number];

export function TokensView({ name, row, point, dirty }: TokensViewProps) {
  const { t } = useTranslation();
  const [model, setModel] = useState("starter");
  const [mask, setMask] = useState<LossMask | null>(null);
  const [ids, setIds] = useState(false);
  const loaded = useCall("data.tokens", { name, row, model, loss_mask: mask }, { follow: "datasets" });
  return (
    <Stack gap="sm" data-point={point}>
      <ModelPicker label={t("data.tokens.model")} value={model} onChange={setModel} />
      <Group align="flex-end" gap="sm">
        <Select
          label={<Term name="loss_mask">{t("data.tokens.mask")}</Term>}
          aria-label={t("data.tokens.mask")}
          flex={1}
          data={[
            { value: "auto", label: t("data.tokens.maskAuto") },
            ...lossMasks.map((value) => ({ value, label: t(`data.tokens.masks.${value}`) })),
          ]}
          value={mask ?? "auto"}
          onChange={(value) => setMask(value === "auto" ? null : value)}
        />
        <Switch
          label={t("data.tokens.ids")}
          checked={ids}
          onChange={(event) => setIds(event.currentTarget.checked)}
          pb={8}
        />
      </Group>
      {dirty && (
        <Text size="sm" c="var(--hone-warn)">
          {t("data.tokens.unsaved")}
        </Text>
      )}
      <LoadedView of={loaded}>
        {(tokens) => (
          <Stack gap="md">
            <TokenList of={tokens} ids={ids} title={tokens.rejected === undefined ? null : t("data.field.chosen")} />
            {tokens.rejected !== undefined && (
              <TokenList of={tokens.rejected} ids={ids} title={t("data.field.rejected")} />
            )}
          </Stack>
        )}
      </LoadedView>
    </Stack>
  );
}

/** More are not drawn: each is an element. */
const mostShown = 4000;

function TokenList({
  of: { ids, pieces, trained },
  ids: showIds,
  title,
}: {
  of: Omit<TokenView, "rejected">;
  ids: boolean;
  title: string | null;
}) {
  const { t } = useTranslation();
  const count = trained.filter(Boolean).length;
  return (
    <div>
      {title !== null && <Text fw={600}>{title}</Text>}
      <Text size="sm" role="status" className="hone-numbers">
        {t("data.tokens.count", { tokens: formatCount(ids.length), trained: formatCount(count) })}
      </Text>
      {count === 0 && (
        <Text size="sm" c="var(--hone-warn)">
          {t("data.tokens.nothing")}
        </Text>
      )}
      <div className={classes.tokens}>
        {pieces.slice(0, mostShown).map((piece, i) => {
          // Said where a trained stretch begins and ends: for those who do not see the colour.
          const begins = trained[i] && trained[i - 1] !== true;
          const ends = !trained[i] && trained[i - 1] === true;
          return (
            <span
              key={i}
              className={classes.token}
              data-trained={trained[i]}
              title={t("data.tokens.one", { id: ids[i], place: i })}
            >
              {begins && <span className="hone-unseen">{t("data.tokens.begins")}</span>}
              {ends && <span className="hone-unseen">{t("data.tokens.ends")}</span>}
              {showIds ? `${ids[i]} ` : piece}
            </span>
          );
        })}
      </div>
      {pieces.length > mostShown && (
        <Text size="sm" className="hone-muted">
          {t("data.tokens.cut", { shown: formatCount(mostShown) })}
        </Text>
      )}
    </div>
  );
}
