import type { DataProgress, DatasetChange } from "../../contract/api/data-calls.ts";
import type { HistoryEntry } from "../../contract/data-json.ts";
import { deleteDataset, type Dataset } from "../../data/dataset.ts";
import { exportData } from "../../data/export.ts";
import { openData, type OpenDataOptions } from "../../data/open-data.ts";
import { dataStats } from "../../data/statistics.ts";
import { requireFilePlace, requireWholePath } from "../../files/system-error.ts";
import {
  afterChange,
  historyLines,
  listDatasetsWithShapes,
  rowWindow,
  setAsideOf,
  viewDataset,
  viewRow,
} from "../data/dataset-views.ts";
import { dedupe } from "../data/dedupe.ts";
import { checkFile, importFile, inspectFile, keepPasted } from "../data/import-data.ts";
import { chatOf, measureTokens, requireGoodRow } from "../data/measure-tokens.ts";
import { changeDataset, useData, useDataset } from "../data/open-datasets.ts";
import { setAsideView } from "../data/set-aside-view.ts";
import { splitDataset } from "../data/split-dataset.ts";
import { tokenView } from "../data/token-view.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";

/** What reading all rows listens to and tells. */
function reading(context: CallContext, stream: string | null): OpenDataOptions {
  const { signal } = context;
  if (stream === null) return { signal };
  return {
    signal,
    onProgress: (done, total) => {
      context.tell("stream", { done, total } satisfies DataProgress, stream);
    },
  };
}

/** Makes one change, and tells every window. */
async function change(
  context: CallContext,
  { name, point }: { name: string; point: number },
  make: (dataset: Dataset) => HistoryEntry | Promise<HistoryEntry>,
): Promise<DatasetChange> {
  const changed = await changeDataset(name, point, async (dataset) => afterChange(dataset, await make(dataset)));
  context.tell("library", "datasets");
  return changed;
}

export const dataHandlers: Handlers<"data"> = {
  "data.list": () => listDatasetsWithShapes(),
  "data.inspect": ({ path, map }) => inspectFile(path, map),
  "data.check": ({ path, map, stream }, context) => checkFile(path, { map, ...reading(context, stream) }),
  "data.paste": ({ text }) => ({ path: keepPasted(text) }),
  "data.import": async ({ path, map, name, version, stream }, context) => {
    const dataset = await importFile(path, name, version, { map, ...reading(context, stream) });
    context.tell("library", "datasets");
    return dataset.summary();
  },
  "data.open": ({ name }) => viewDataset(name),
  "data.rows": (window, { signal }) => rowWindow(window, signal),
  "data.row": ({ name, row }) => viewRow(name, row),
  "data.edit": ({ row, record, ...at }, context) => change(context, at, (dataset) => dataset.edit(row, record)),
  "data.add": ({ records, ...at }, context) => change(context, at, (dataset) => dataset.add(records)),
  "data.delete_rows": ({ rows, ...at }, context) => change(context, at, (dataset) => dataset.delete(rows)),
  "data.undo": (at, context) => change(context, at, (dataset) => dataset.undo()),
  "data.redo": (at, context) => change(context, at, (dataset) => dataset.redo()),
  "data.restore": ({ to, ...at }, context) => change(context, at, (dataset) => dataset.restore(to)),
  "data.history": ({ name }) => historyLines(name),
  "data.diff": async ({ name, from, to, limit }) => {
    const changes = (await useDataset(name)).diff(from, to);
    return { total: changes.length, changes: changes.slice(0, limit) };
  },
  "data.set_aside": ({ name }) => setAsideOf(name),
  "data.tokens": async ({ name, row, model, loss_mask }) => {
    const entry = requireGoodRow(await (await useData(name)).row(row));
    return tokenView(await chatOf(model), entry, loss_mask);
  },
  "data.stats": async ({ name, model, loss_mask, against, stream }, context) => {
    const data = await useData(name, reading(context, stream));
    const chat = model === null ? undefined : await chatOf(model);
    return dataStats(data, {
      signal: context.signal,
      ...(chat !== undefined && { measure: measureTokens(chat, loss_mask) }),
      ...(against !== null && { against: await openData(against, { signal: context.signal }) }),
    });
  },
  "data.dedupe": async ({ near, stream, ...at }, context) => {
    let deleted = 0;
    const changed = await change(context, at, async (dataset) => {
      const done = await dedupe(dataset, { near, ...reading(context, stream) });
      deleted = done.deleted;
      return done.entry;
    });
    return { ...changed, deleted };
  },
  "data.split": async ({ name, group, stream, ...shares }, context) => {
    const data = await useData(name, reading(context, stream));
    const { parts, groups } = await splitDataset(data, name, { ...shares, ...(group !== null && { group }) });
    context.tell("library", "datasets");
    return { parts: parts.map((part) => part.summary()), groups };
  },
  "data.export": async ({ name, path, format, shape, stream }, context) => {
    requireWholePath(path);
    requireFilePlace(path, "choose another file");
    const data = await useData(name, reading(context, stream));
    const { rows, setAside } = await exportData(data, path, format, shape ?? undefined);
    const listed = setAside.slice(0, 1000);
    return {
      path,
      rows,
      set_aside: listed.map(({ place, reason }) => setAsideView({ ...place, reason }, data.columns)),
      set_aside_count: setAside.length,
    };
  },
  "data.delete": async ({ name }, context) => {
    const { bytes } = await deleteDataset(name);
    context.tell("library", "datasets");
    return { freed: bytes };
  },
};
