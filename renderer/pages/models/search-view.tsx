/** Search on the hubs, by name, author, link or full name. What is asked stands in the address. */

import { Badge, Button, Checkbox, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { Lock, Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useSearchParams } from "wouter";
import type { FoundRepos } from "../../../core/contract/api/hub-calls.ts";
import { HoneError } from "../../../core/contract/errors.ts";
import {
  hubSourceLabels,
  hubSources,
  searchSorts,
  type HubSourceName,
  type SearchHit,
} from "../../../core/contract/hub.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useCall } from "../../app/hone-context.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { Term } from "../../components/term.tsx";
import { shortCount } from "./model-texts.ts";
import { RepoDrawer } from "./repo-drawer.tsx";

/** Parameters at most; empty: any. */
const sizes = ["", "500e6", "1e9", "3e9", "8e9"] as const;
const formats = ["", "safetensors", "gguf"] as const;

export function SearchView() {
  const { t } = useTranslation();
  const [params, setParams] = useSearchParams();
  const asked = params.get("q");
  const source = hubSources.find((one) => one === params.get("source")) ?? "huggingface";
  const supported = params.get("supported") !== "no";
  const [typed, setTyped] = useState(asked ?? "");
  const change = (more: Record<string, string | null>) => {
    setParams((before) => {
      const after = new URLSearchParams(before);
      for (const [key, value] of Object.entries(more)) {
        if (value === null || value === "") after.delete(key);
        else after.set(key, value);
      }
      return after;
    });
  };
  const repo = params.get("repo");
  const author = params.get("author") ?? "";
  return (
    <Stack>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          change({ q: typed.trim() === "" ? " " : typed.trim() });
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t("models.search.label")}
            placeholder={t("models.search.placeholder")}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            leftSection={<Search size={14} aria-hidden />}
            flex={1}
            miw={260}
            spellCheck={false}
          />
          <Select
            label={t("models.search.hub")}
            data={hubSources.map((value) => ({ value, label: hubSourceLabels[value] }))}
            value={source}
            onChange={(value) => change({ source: value })}
            allowDeselect={false}
            w={150}
          />
          <Button type="submit">{t("models.search.go")}</Button>
        </Group>
      </form>
      <Group align="flex-end" gap="sm">
        <TextInput
          key={author}
          label={t("models.search.author")}
          defaultValue={author}
          onBlur={(event) => change({ author: event.currentTarget.value.trim() })}
          onKeyDown={(event) => {
            if (event.key === "Enter") change({ author: event.currentTarget.value.trim() });
          }}
          spellCheck={false}
          w={160}
        />
        <Select
          label={t("models.search.size")}
          data={sizes.map((value) => ({
            value,
            label: value === "" ? t("models.search.any") : t("models.search.upTo", { size: shortCount(Number(value)) }),
          }))}
          value={sizes.find((one) => one === params.get("size")) ?? ""}
          onChange={(value) => change({ size: value })}
          allowDeselect={false}
          w={130}
        />
        <Select
          label={t("models.search.format")}
          data={formats.map((value) => ({ value, label: value === "" ? t("models.search.any") : value }))}
          value={formats.find((one) => one === params.get("format")) ?? ""}
          onChange={(value) => change({ format: value })}
          allowDeselect={false}
          w={130}
        />
        <Select
          label={t("models.search.sort")}
          data={searchSorts.map((value) => ({ value, label: t(`models.search.sorts.${value}`) }))}
          value={searchSorts.find((one) => one === params.get("sort")) ?? "downloads"}
          onChange={(value) => change({ sort: value })}
          allowDeselect={false}
          w={150}
        />
        <Checkbox
          label={t("models.search.supported")}
          checked={supported}
          onChange={(event) => change({ supported: event.currentTarget.checked ? null : "no" })}
          mb={8}
        />
      </Group>
      {asked === null ? (
        <EmptyState
          title={t("models.search.begin")}
          action={
            <Button variant="default" onClick={() => change({ q: " " })}>
              {t("models.search.popular")}
            </Button>
          }
        >
          {t("models.search.beginText")}
        </EmptyState>
      ) : (
        <Results params={params} source={source} onOpen={(id, hub) => change({ repo: id, source: hub })} />
      )}
      {repo !== null && (
        <RepoDrawer key={`${source} ${repo}`} source={source} reference={repo} onClose={() => change({ repo: null })} />
      )}
    </Stack>
  );
}

interface ResultsProps {
  params: URLSearchParams;
  source: HubSourceName;
  onOpen: (id: string, source: HubSourceName) => void;
}

function Results({ params, source, onOpen }: ResultsProps) {
  const { t } = useTranslation();
  const format = formats.find((one) => one === params.get("format")) ?? "";
  const size = Number(params.get("size") ?? "");
  const sort = searchSorts.find((one) => one === params.get("sort"));
  const author = params.get("author") ?? "";
  const found = useCall("hub.search", {
    source,
    query: {
      text: params.get("q")?.trim() ?? "",
      supported: params.get("supported") !== "no",
      limit: 50,
      ...(author !== "" && { author }),
      ...(format !== "" && { format }),
      ...(size > 0 && { max_parameters: size }),
      ...(sort !== undefined && { sort }),
    },
  });
  return (
    <Stack gap="sm">
      {found.error instanceof HoneError && isAway(found.error) && <Offline />}
      <LoadedView of={found}>{(result) => <Hits result={result} onOpen={onOpen} />}</LoadedView>
      <span role="status" className="hone-unseen">
        {found.value !== undefined && t("models.search.count", { count: found.value.hits.length })}
      </span>
    </Stack>
  );
}

function isAway({ code }: HoneError): boolean {
  return ["offline", "connection-refused", "timeout", "no-such-host"].includes(code);
}

/** What goes on without the network. */
function Offline() {
  const { t } = useTranslation();
  return (
    <Group className="hone-card" justify="space-between" role="status">
      <Text size="sm">{t("models.search.offline")}</Text>
      <Button component={Link} href="/models" variant="default" size="compact-sm">
        {t("models.tab.local")}
      </Button>
    </Group>
  );
}

function Hits({ result, onOpen }: { result: FoundRepos; onOpen: ResultsProps["onOpen"] }) {
  const { t } = useTranslation();
  const { hits, named, notes, more } = result;
  const isListed = named !== null && hits.some(({ ref }) => ref.id.toLowerCase() === named.id.toLowerCase());
  return (
    <Stack gap="sm">
      {named !== null && (!isListed || named.revision !== "main") && (
        <Group className="hone-card" justify="space-between">
          <Text size="sm">{t("models.search.named", { name: named.id, hub: hubSourceLabels[named.source] })}</Text>
          <Button
            size="compact-sm"
            onClick={() => onOpen(named.revision === "main" ? named.id : `${named.id}@${named.revision}`, named.source)}
          >
            {t("models.details")}
          </Button>
        </Group>
      )}
      {notes.map((note) => (
        <Text key={note} size="sm" className="hone-muted">
          {note}
        </Text>
      ))}
      {hits.length === 0 ? (
        named === null && <EmptyState title={t("models.search.nothing")}>{t("models.search.nothingText")}</EmptyState>
      ) : (
        <HitTable hits={hits} onOpen={onOpen} />
      )}
      {more && (
        <Text size="sm" className="hone-muted">
          {t("models.search.more")}
        </Text>
      )}
    </Stack>
  );
}

function HitTable({ hits, onOpen }: { hits: readonly SearchHit[]; onOpen: ResultsProps["onOpen"] }) {
  const { t } = useTranslation();
  return (
    <div className="hone-card">
      <Table.ScrollContainer minWidth={720} type="native">
        <Table highlightOnHover aria-label={t("models.search.results")}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t("models.column.name")}</Table.Th>
              <Table.Th ta="right">
                <Term name="parameters">{t("models.column.parameters")}</Term>
              </Table.Th>
              <Table.Th>
                <Term name="architecture">{t("models.column.architecture")}</Term>
              </Table.Th>
              <Table.Th>{t("models.column.formats")}</Table.Th>
              <Table.Th>{t("models.column.opens")}</Table.Th>
              <Table.Th>{t("models.column.licence")}</Table.Th>
              <Table.Th ta="right">{t("models.column.downloads")}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {hits.map(({ ref, gated, parameters, architecture, formats: kinds, supported, licence, downloads }) => (
              <Table.Tr key={ref.id}>
                <Table.Td>
                  <Group gap={6} wrap="nowrap">
                    <Button variant="transparent" size="compact-sm" px={0} onClick={() => onOpen(ref.id, ref.source)}>
                      {ref.id}
                    </Button>
                    {gated !== false && (
                      <Badge
                        size="xs"
                        variant="light"
                        color="orange"
                        autoContrast
                        leftSection={<Lock size={9} aria-hidden />}
                      >
                        <Term name="gated">{t("models.gated")}</Term>
                      </Badge>
                    )}
                  </Group>
                </Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {parameters === null ? "–" : shortCount(parameters)}
                </Table.Td>
                <Table.Td>{architecture ?? "–"}</Table.Td>
                <Table.Td>{kinds.join(", ")}</Table.Td>
                <Table.Td>{t(`models.opens.${supported === null ? "unknown" : supported ? "yes" : "no"}`)}</Table.Td>
                <Table.Td>{licence ?? "–"}</Table.Td>
                <Table.Td ta="right" className="hone-numbers">
                  {downloads === null ? "–" : formatCount(downloads)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}
