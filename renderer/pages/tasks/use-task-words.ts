/** What the tasks that come with Hone are called, and say, in the language of the window. */

import { useTranslation } from "react-i18next";

interface Named {
  name: string;
  title: string;
  description: string;
  path: string | null;
}

export function useTaskWords(): (task: Named) => { title: string; description: string } {
  const { t } = useTranslation();
  return ({ name, title, description, path }) => {
    if (path !== null) return { title, description };
    return {
      title: t(`tasks.builtIn.${name}.title`, { defaultValue: title }),
      description: t(`tasks.builtIn.${name}.text`, { defaultValue: description }),
    };
  };
}
