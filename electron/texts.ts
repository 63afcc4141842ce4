/** The few words that the main process says itself: menus and dialogs of the system. */

const en = {
  file: "File",
  newWindow: "New Window",
  settings: "Settings…",
  view: "View",
  help: "Help",
  shortcuts: "Keyboard Shortcuts",
  working: "Hone is still working",
  workingOn: (titles: string) =>
    `${titles}\n\nIt can go on without a window; start Hone again to see it. Or it stops now, and what it has done so far is saved.`,
  goOn: "Keep Training in the Background",
  stop: "Stop and Save",
  cancel: "Cancel",
  ended: { done: "Finished", stopped: "Stopped", failed: "Failed" },
};

export type ShellTexts = typeof en;

const zh: ShellTexts = {
  file: "文件",
  newWindow: "新建窗口",
  settings: "设置…",
  view: "显示",
  help: "帮助",
  shortcuts: "键盘快捷键",
  working: "Hone 仍在工作",
  workingOn: (titles) =>
    `${titles}\n\n可以在没有窗口的情况下继续，再次启动 Hone 即可查看；也可以现在停止并保存已完成的部分。`,
  goOn: "在后台继续训练",
  stop: "停止并保存",
  cancel: "取消",
  ended: { done: "已完成", stopped: "已停止", failed: "失败" },
};

/** @param language as the settings have it; null: the system's. */
export function shellTexts(language: "en" | "zh" | null, systemLocale: string): ShellTexts {
  return (language ?? (systemLocale.toLowerCase().startsWith("zh") ? "zh" : "en")) === "zh" ? zh : en;
}
