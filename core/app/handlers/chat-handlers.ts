import { openOrCreateDataset } from "../../data/dataset.ts";
import { chatReply } from "../play/chat-reply.ts";
import { useModel } from "../play/open-models.ts";
import type { Handlers } from "../service/handlers.ts";

const source = "chat";

export const chatHandlers: Handlers<"chat"> = {
  "chat.model": ({ model: reference }, context) =>
    useModel(context, reference, ({ files, model, chat }) => {
      const { parameters, contextLength } = model.info();
      return Promise.resolve({
        model: files.name,
        parameters,
        context_length: contextLength,
        can_switch_thinking: chat.text.hasThinkingSwitch,
      });
    }),
  "chat.answer": ({ model: reference, stream, ...turn }, context) =>
    useModel(context, reference, (model) =>
      chatReply(model, turn, {
        signal: context.signal,
        ...(stream !== null && {
          onAnswer: (soFar) => {
            context.tell("stream", soFar, stream);
          },
        }),
      }),
    ),
  "chat.keep": async ({ dataset, prompt, answer, tools }, context) => {
    const kept = await openOrCreateDataset(dataset, source);
    const offered = tools.length > 0 ? { tools } : {};
    await kept.add([{ prompt, completion: [answer], ...offered }], "1 kept from chat");
    context.tell("library", "datasets");
    return { dataset: kept.name, rows: kept.size };
  },
  "chat.rate": async ({ dataset, prompt, chosen, rejected, tools }, context) => {
    const rated = await openOrCreateDataset(dataset, source);
    const offered = tools.length > 0 ? { tools } : {};
    await rated.add([{ prompt, chosen: [chosen], rejected: [rejected], ...offered }], "a pair rated in chat");
    context.tell("library", "datasets");
    return { dataset: rated.name, rows: rated.size };
  },
};
