/** All pages: where they are, how they are called, what they show. Pages are loaded when they are first opened. */

import {
  BookOpen,
  Boxes,
  Database,
  Gamepad2,
  GraduationCap,
  House,
  MessageSquare,
  Settings,
  SlidersHorizontal,
  Target,
  TrendingUp,
  type LucideIcon,
} from "lucide-react";
import { lazy, type ComponentType } from "react";

export interface PageEntry {
  /** Also the key of its name, `nav.<id>`. */
  id: string;
  /** As wouter writes it; `:name` is a parameter. */
  path: string;
  icon: LucideIcon;
  component: ComponentType;
  /** Left out of the list at the side: it is reached from another page. */
  hidden?: boolean;
}

export const pages: readonly PageEntry[] = [
  { id: "home", path: "/", icon: House, component: lazy(() => import("../pages/home/home-page.tsx")) },
  {
    id: "tutorial",
    path: "/tutorial",
    icon: GraduationCap,
    component: lazy(() => import("../pages/tutorial/tutorial-page.tsx")),
  },
  { id: "models", path: "/models/*?", icon: Boxes, component: lazy(() => import("../pages/models/models-page.tsx")) },
  { id: "data", path: "/data/*?", icon: Database, component: lazy(() => import("../pages/data/data-page.tsx")) },
  { id: "tasks", path: "/tasks/*?", icon: Target, component: lazy(() => import("../pages/tasks/tasks-page.tsx")) },
  {
    id: "rewards",
    path: "/rewards/*?",
    icon: SlidersHorizontal,
    component: lazy(() => import("../pages/rewards/rewards-page.tsx")),
  },
  { id: "train", path: "/train", icon: TrendingUp, component: lazy(() => import("../pages/train/train-page.tsx")) },
  { id: "runs", path: "/runs/*?", icon: BookOpen, component: lazy(() => import("../pages/runs/runs-page.tsx")) },
  { id: "play", path: "/play", icon: Gamepad2, component: lazy(() => import("../pages/play/play-page.tsx")) },
  { id: "chat", path: "/chat", icon: MessageSquare, component: lazy(() => import("../pages/chat/chat-page.tsx")) },
  {
    id: "settings",
    path: "/settings",
    icon: Settings,
    component: lazy(() => import("../pages/settings/settings-page.tsx")),
  },
];
