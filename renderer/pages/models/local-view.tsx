/** What is on this machine: all models of all places, and what they take. */

import { Badge, Button, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearchParams } from "wouter";
import { modelPlaces, type LocalModel, type StorageListing } from "../../../core/contract/hub.ts";
import { formatBytes } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import { AddModels } from "./add-models.tsx";
import { ModelDrawer } from "./model-drawer.tsx";
import { shortCount } from "./model-texts.ts";
import { StorageView } from "./storage-view.tsx";

export function LocalView() {
  const loaded = useCall("models.list", {}, { follow: "models" });
  return (
    <Stack>
      <AddModels />
      <LoadedView of={loaded}>{(listing) => <Listing listing={listing} />}</LoadedView>
    </Stack>
  );
}

function Listing({ listing }: { listing: StorageListing }) {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const [text, setText] = useState("");
  const [place, setPlace] = useState<string>("");
  const models = listing.models.filter(({ kind }) => kind === "model");
  const words = text.toLowerCase().split(/\s+/);
  const shown = models.filter(
    (model) =>
      (place === "" || model.place === place) &&
      words.every((word) =>
        `${model.reference} ${model.name} ${model.architecture ?? ""} ${model.quant ?? ""}`
          .toLowerCase()
          .includes(word),
      ),
  );
  const places = modelPlaces.filter((one) => models.some((model) => model.place === one));
  const opened = models.find(({ path }) => path === params.get("model"));
  const open = (path: string | null) => {
    setParams((before) => {
      const after = new URLSearchParams(before);
      if (path === null) after.delete("model");
      else after.set("model", path);
      return after;
    });
  };
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <TextInput
          label={t("models.filter")}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          leftSection={<Search size={14} aria-hidden />}
          w={280}
        />
        <Select
          label={t("models.column.place")}
          data={[
            { value: "", label: t("models.search.any") },
            ...places.map((value) => ({ value, label: t(`models.place.${value}`) })),
          ]}
          value={place}
          onChange={(value) => setPlace(value ?? "")}
          allowDeselect={false}
          w={200}
        />
        <Button component={Link} href="/models/catalogue" variant="default">
          {t("models.getMore")}
        </Button>
      </Group>
      <ModelTable models={shown} onOpen={open} />
      {shown.length === 0 && <Text className="hone-muted">{t("models.catalogue.nothing")}</Text>}
      <StorageView listing={listing} />
      {opened !== undefined && <ModelDrawer key={opened.path} model={opened} onClose={() => open(null)} />}
    </Stack>
  );
}

function ModelTable({ models, onOpen }: { models: readonly LocalModel[]; onOpen: (path: string) => void }) {
  const { t } = useTranslation();
  return (
    <div className="hone-card">
      <Table.ScrollContainer minWidth={760} type="native">
        <Table highlightOnHover aria-label={t("models.tab.local")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("models.column.name")}</Table.Th>
              <Table.Th ta="right">
                <Term name="parameters">{t("models.column.parameters")}</Term>
              </Table.Th>
              <Table.Th>
                <Term name="architecture">{t("models.column.architecture")}</Term>
              </Table.Th>
              <Table.Th>
                <Term name="quantisation">{t("models.column.quant")}</Term>
              </Table.Th>
              <Table.Th ta="right">{t("models.column.size")}</Table.Th>
              <Table.Th>{t("models.column.opens")}</Table.Th>
              <Table.Th>{t("models.column.place")}</Table.Th>
              <Table.Th>
                <span className="hone-unseen">{t("models.column.actions")}</span>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {models.map((model) => (
              <Table.Tr key={`${model.path} ${model.complete}`}>
                <Table.Td maw={300}>
                  <Button
                    variant="transparent"
                    size="compact-sm"
                    px={0}
                    maw="100%"
                    onClick={() => onOpen(model.path)}
                    aria-label={t("models.detailsOf", { name: model.name })}
                  >
                    <Text size="sm" fw={500} truncate span title={model.path}>
                      {model.name}
                    </Text>
                  </Button>
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {model.parameters === null ? "–" : shortCount(model.parameters)}
                </Table.Td>
                <Table.Td>{model.architecture ?? "–"}</Table.Td>
                <Table.Td>{[model.format, model.quant].filter((part) => part !== null).join(" · ")}</Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {formatBytes(model.bytes)}
                </Table.Td>
                <Table.Td>
                  <OpensBadge model={model} />
                </Table.Td>
                <Table.Td>{t(`models.place.${model.place}`)}</Table.Td>
                <Table.Td>
                  {isUsable(model) && (
                    <Button
                      component={Link}
                      href={`/chat?model=${encodeURIComponent(model.reference)}`}
                      size="compact-xs"
                      variant="default"
                      aria-label={t("models.chatWith", { name: model.name })}
                    >
                      {t("models.use.chat")}
                    </Button>
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}

export function isUsable({ complete, unsupported }: LocalModel): boolean {
  return complete && unsupported === null;
}

export function OpensBadge({ model: { complete, unsupported } }: { model: LocalModel }) {
  const { t } = useTranslation();
  const state = !complete ? "partial" : unsupported === null ? "yes" : "no";
  const colour = { partial: "orange", yes: "teal", no: "gray" }[state];
  return (
    <Badge size="sm" variant="light" color={colour} autoContrast title={unsupported ?? undefined}>
      {t(`models.opens.${state}`)}
    </Badge>
  );
}
