import { createEngine } from "../../engine/engine.ts";
import { applyDownloadSettings, openDownloads } from "../hub/downloads.ts";
import { hubSettings } from "../hub/hub-settings.ts";
import { lookAtRepo, readRepoCard, searchRepos } from "../hub/look-repo.ts";
import { thisMachine } from "../models/fit-model.ts";
import { listCatalog } from "../models/list-catalog.ts";
import type { CallContext, Handlers } from "../service/handlers.ts";

const asked = async (context: CallContext) => ({ hubs: await hubSettings(context), signal: context.signal });

export const hubHandlers: Handlers<"hub"> = {
  "hub.catalog": async () => listCatalog(thisMachine(await createEngine())),
  "hub.search": async (input, context) => searchRepos(input, await asked(context)),
  "hub.look": async (input, context) => lookAtRepo(input, await asked(context)),
  "hub.card": async (input, context) => readRepoCard(input, await asked(context)),
  "hub.downloads": (_, context) => openDownloads(context).list(),
  "hub.download": (order, context) => openDownloads(context).add(order),
  "hub.pause": async ({ id }, context) => {
    await openDownloads(context).pause(id);
    return null;
  },
  "hub.resume": ({ id }, context) => {
    openDownloads(context).resume(id);
    return null;
  },
  "hub.cancel": async ({ id }, context) => {
    await openDownloads(context).cancel(id);
    return null;
  },
  "hub.dismiss": ({ id }, context) => {
    openDownloads(context).remove(id);
    return null;
  },
  "hub.settings_changed": () => {
    applyDownloadSettings();
    return null;
  },
};
