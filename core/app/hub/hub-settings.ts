/** Where the hubs are and by which token they know the person: from the settings and the kept tokens. */

import type { HubSettings } from "../../hub/find-snapshot.ts";
import type { CallContext } from "../service/handlers.ts";
import { readSettings } from "../service/settings.ts";

export async function hubSettings({ secret }: Pick<CallContext, "secret">): Promise<HubSettings> {
  const { huggingface_endpoint: endpoint } = readSettings();
  const [huggingface, modelscope] = await Promise.all([secret("huggingface"), secret("modelscope")]);
  return {
    huggingface: { endpoint: endpoint ?? undefined, token: huggingface ?? undefined },
    modelscope: { token: modelscope ?? undefined },
  };
}
