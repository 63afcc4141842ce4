/** Which of two answers is better? Each choice becomes a pair to train on (DPO). Keys: 1, 2, 0 for neither, U to take back. */

import { Button, Group, Kbd, NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { ArrowLeft } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "wouter";
import type { DatasetView } from "../../../core/contract/api/data-calls.ts";
import { messageText, type ChatMessage } from "../../../core/contract/chat.ts";
import { errorKind } from "../../../core/contract/errors.ts";
import { formatCount } from "../../../core/contract/units.ts";
import { useApi, useCall } from "../../app/hone-context.tsx";
import { ErrorBox } from "../../components/error-box.tsx";
import { EmptyState, LoadedView } from "../../components/loaded-view.tsx";
import { ModelPicker } from "../../components/model-picker.tsx";
import { Page } from "../../components/page.tsx";
import { Term } from "../../components/term.tsx";
import { drawPair, type Pair, type PairWish } from "./draw-pair.ts";
import classes from "./data.module.css";

export function RatePage({ name }: { name: string }) {
  const { t } = useTranslation();
  const loaded = useCall("data.open", { name });
  return (
    <Page
      title={t("data.rate.title", { name })}
      lead={
        <>
          {t("data.rate.lead")} (<Term name="preference_pair" />)
        </>
      }
      actions={
        <Button
          component={Link}
          href={`/data/${encodeURIComponent(name)}`}
          variant="default"
          leftSection={<ArrowLeft size={16} aria-hidden />}
        >
          {name}
        </Button>
      }
    >
      <LoadedView of={loaded}>{(view) => <Rating view={view} />}</LoadedView>
    </Page>
  );
}

function Rating({ view: { name, rows } }: { view: DatasetView }) {
  const { t } = useTranslation();
  const api = useApi();
  const [models, setModels] = useState<[string, string]>(["starter", "starter"]);
  const [temperature, setTemperature] = useState(1);
  const [maxTokens, setMaxTokens] = useState(256);
  const [target, setTarget] = useState(`${name}-pairs`);
  const [pair, setPair] = useState<Pair | null>();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [kept, setKept] = useState(0);
  const [said, setSaid] = useState("");
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);

  const wish: PairWish = { name, models, temperature, maxTokens };
  const draw = async (row: number) => {
    abort.current?.abort();
    const mine = new AbortController();
    abort.current = mine;
    setBusy(true);
    setError(undefined);
    try {
      const next = await drawPair(api, wish, row, rows, mine.signal);
      if (!mine.signal.aborted) setPair(next);
    } catch (failed) {
      if (!mine.signal.aborted && errorKind(failed) !== "cancelled") setError(failed);
    } finally {
      if (abort.current === mine) setBusy(false);
    }
  };
  const stop = () => {
    abort.current?.abort();
    setBusy(false);
  };
  const choose = async (better: 0 | 1 | null) => {
    if (pair == null || busy || (pair.same && better !== null)) return;
    if (better !== null) {
      const [chosen, rejected] = [pair.answers[better], pair.answers[1 - better]];
      try {
        await api.call("chat.rate", { dataset: target, prompt: pair.prompt, chosen, rejected, tools: pair.tools });
      } catch (failed) {
        return setError(failed);
      }
      setKept(kept + 1);
      setSaid(t("data.rate.kept", { row: pair.row, name: target }));
    } else setSaid(t("data.rate.skipped", { row: pair.row }));
    await draw(pair.row + 1);
  };
  const takeBack = async () => {
    if (kept === 0) return;
    setError(undefined);
    try {
      const { point } = await api.call("data.open", { name: target });
      await api.call("data.undo", { name: target, point });
      setKept(kept - 1);
      setSaid(t("data.rate.takenBack"));
    } catch (failed) {
      setError(failed);
    }
  };
  useHotkeys([
    ["1", () => void choose(0)],
    ["2", () => void choose(1)],
    ["0", () => void choose(null)],
    ["U", () => void takeBack()],
  ]);
  const begun = pair !== undefined;
  return (
    <Stack gap="md">
      <form
        className="hone-card"
        onSubmit={(event) => {
          event.preventDefault();
          void draw(pair?.row ?? 1);
        }}
      >
        <Stack gap="sm">
          <Group grow align="flex-start">
            <div>
              <ModelPicker
                label={t("data.rate.modelOf", { answer: 1 })}
                value={models[0]}
                onChange={(one) => setModels([one, models[1]])}
              />
            </div>
            <div>
              <ModelPicker
                label={t("data.rate.modelOf", { answer: 2 })}
                value={models[1]}
                onChange={(two) => setModels([models[0], two])}
              />
            </div>
          </Group>
          <Group align="flex-end">
            <NumberInput
              label={<Term name="temperature">{t("data.rate.temperature")}</Term>}
              aria-label={t("data.rate.temperature")}
              value={temperature}
              onChange={(value) => setTemperature(Number(value))}
              min={0}
              max={5}
              step={0.1}
              w={130}
            />
            <NumberInput
              label={t("data.rate.maxTokens")}
              value={maxTokens}
              onChange={(value) => setMaxTokens(Number(value))}
              min={1}
              allowDecimal={false}
              w={200}
            />
            <TextInput
              label={t("data.rate.target")}
              value={target}
              onChange={(event) => setTarget(event.currentTarget.value)}
              required
              w={240}
            />
            <Button type="submit" loading={busy} disabled={target.trim() === ""}>
              {t(begun ? "data.rate.again" : "data.rate.start")}
            </Button>
            {busy && (
              <Button variant="default" onClick={stop}>
                {t("common.cancel")}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      {error !== undefined && <ErrorBox error={error} />}
      <Group justify="space-between">
        <Text role="status" className="hone-muted">
          {busy ? t("data.rate.drawing") : said}
        </Text>
        {kept > 0 && (
          <Group gap="xs">
            <Text className="hone-numbers">{t("data.rate.count", { count: kept, pairs: formatCount(kept) })}</Text>
            <Button size="compact-sm" variant="default" onClick={() => void takeBack()} rightSection={<Kbd>U</Kbd>}>
              {t("data.rate.takeBack")}
            </Button>
            <Button size="compact-sm" component={Link} href={`/data/${encodeURIComponent(target)}`}>
              {t("data.rate.look")}
            </Button>
          </Group>
        )}
      </Group>
      {pair === null && <EmptyState title={t("data.rate.end.title")}>{t("data.rate.end.text")}</EmptyState>}
      {pair != null && <PairView pair={pair} busy={busy} onChoose={(better) => void choose(better)} rows={rows} />}
    </Stack>
  );
}

interface PairViewProps {
  pair: Pair;
  rows: number;
  busy: boolean;
  onChoose: (better: 0 | 1 | null) => void;
}

function PairView({ pair: { row, prompt, answers, same }, rows, busy, onChoose }: PairViewProps) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm">
      <Stack gap={4} className="hone-card">
        <Text size="sm" className="hone-muted hone-numbers">
          {t("data.rate.row", { row: formatCount(row), rows: formatCount(rows) })}
        </Text>
        {prompt.map((message, i) => (
          <div key={i} className={classes.message} data-role={message.role}>
            <Text size="xs" className="hone-muted">
              {message.role}
            </Text>
            <div className={classes.answer}>{messageText(message)}</div>
          </div>
        ))}
      </Stack>
      <div className={classes.answers}>
        {([0, 1] as const).map((which) => (
          <Stack key={which} gap="sm" className="hone-card">
            <div
              className={classes.answer}
              tabIndex={0}
              role="group"
              aria-label={t("data.rate.answer", { answer: which + 1 })}
            >
              {answerText(answers[which])}
            </div>
            <Button
              variant="light"
              mt="auto"
              disabled={busy || same}
              onClick={() => onChoose(which)}
              rightSection={<Kbd>{which + 1}</Kbd>}
            >
              {t("data.rate.better", { answer: which + 1 })}
            </Button>
          </Stack>
        ))}
      </div>
      {same && <Text role="status">{t("data.rate.same")}</Text>}
      <Group justify="center">
        <Button variant="default" disabled={busy} onClick={() => onChoose(null)} rightSection={<Kbd>0</Kbd>}>
          {t("data.rate.neither")}
        </Button>
      </Group>
    </Stack>
  );
}

function answerText(message: ChatMessage): string {
  const calls = (message.tool_calls ?? []).map((call) => JSON.stringify(call));
  return [messageText(message), ...calls].filter((part) => part !== "").join("\n");
}
