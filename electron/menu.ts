/** The menu of the app. Everything in it can be done in the window too. */

import { BrowserWindow, Menu, type MenuItemConstructorOptions } from "electron";
import type { ShellTexts } from "./texts.ts";
import { openWindow, showWindow } from "./window.ts";

export function setMenu(texts: ShellTexts): void {
  const isMac = process.platform === "darwin";
  const settings: MenuItemConstructorOptions = {
    label: texts.settings,
    accelerator: "CmdOrCtrl+,",
    click: () => {
      goTo("/settings");
    },
  };
  const template: MenuItemConstructorOptions[] = [
    ...(isMac
      ? [
          {
            role: "appMenu" as const,
            submenu: [
              { role: "about" as const },
              { type: "separator" as const },
              settings,
              { type: "separator" as const },
              { role: "hide" as const },
              { role: "hideOthers" as const },
              { type: "separator" as const },
              { role: "quit" as const },
            ],
          },
        ]
      : []),
    {
      label: texts.file,
      submenu: [
        { label: texts.newWindow, accelerator: "CmdOrCtrl+Shift+N", click: () => void openWindow() },
        ...(isMac ? [] : [settings]),
        { type: "separator" },
        isMac ? { role: "close" } : { role: "quit" },
      ],
    },
    { role: "editMenu" },
    {
      label: texts.view,
      submenu: [
        { role: "resetZoom" },
        { role: "zoomIn" },
        { role: "zoomOut" },
        { type: "separator" },
        { role: "togglefullscreen" },
        { role: "toggleDevTools" },
      ],
    },
    { role: "windowMenu" },
    {
      role: "help",
      label: texts.help,
      submenu: [{ label: texts.shortcuts, click: () => goTo("/settings?shortcuts") }],
    },
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}

/** Pages are behind the `#`, so that going to one loads nothing anew. */
function goTo(path: string): void {
  const window = BrowserWindow.getFocusedWindow() ?? showWindow();
  void window.webContents.executeJavaScript(`location.hash = ${JSON.stringify(path)}`);
}
