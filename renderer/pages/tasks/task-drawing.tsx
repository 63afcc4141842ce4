/** A small drawing of what a task is about, in the colours of the theme. Seen only: the words beside it say the same. */

import type { ReactNode } from "react";
import type { TaskPicture } from "../../../core/contract/api/task-calls.ts";
import classes from "./tasks.module.css";

export function TaskDrawing({ picture }: { picture: TaskPicture }) {
  return (
    <svg viewBox="0 0 160 90" className={classes.drawing} aria-hidden focusable="false">
      {pictures[picture]}
    </svg>
  );
}

/** Lines that stand for text. */
function Lines({ x, y, widths, step = 9 }: { x: number; y: number; widths: readonly number[]; step?: number }) {
  return widths.map((width, i) => (
    <rect key={i} x={x} y={y + i * step} width={width} height="4" rx="2" className={classes.quiet} />
  ));
}

const pictures: Readonly<Record<TaskPicture, ReactNode>> = {
  board: (
    <g>
      <path d="M67 12v66M93 12v66M44 33h72M44 57h72" className={classes.line} />
      <path d="M50 17l11 11M61 17l-11 11M74 39l11 11M85 39l-11 11" className={classes.first} />
      <circle cx="105" cy="22" r="6.5" className={classes.second} />
      <circle cx="56" cy="68" r="6.5" className={classes.second} />
      <path d="M99 62l11 11M110 62l-11 11" className={classes.first} strokeDasharray="3 3" />
    </g>
  ),
  tool_call: (
    <g>
      <rect x="12" y="16" width="62" height="26" rx="5" className={classes.box} />
      <Lines x={20} y={24} widths={[44, 30]} />
      <path d="M78 29h20m-6-5l6 5l-6 5" className={classes.line} />
      <rect x="102" y="12" width="46" height="66" rx="5" className={classes.box} />
      <path d="M118 26a9 9 0 0 1 12 12l9 9-5 5-9-9a9 9 0 0 1-12-12l6 6 5-5z" className={classes.fill} />
      <Lines x={110} y={62} widths={[30, 20]} step={7} />
      <path d="M98 60H40m6-5l-6 5l6 5" className={classes.first} />
    </g>
  ),
  json: (
    <g>
      <rect x="12" y="14" width="54" height="62" rx="5" className={classes.box} />
      <Lines x={20} y={24} widths={[38, 30, 38, 24, 34]} />
      <path d="M70 45h18m-6-5l6 5l-6 5" className={classes.line} />
      <path d="M104 16c-8 0-6 10-6 16s-2 13-6 13c4 0 6 7 6 13s-2 16 6 16" className={classes.first} />
      <path d="M140 16c8 0 6 10 6 16s2 13 6 13c-4 0-6 7-6 13s2 16-6 16" className={classes.first} />
      <Lines x={108} y={28} widths={[28, 22, 28, 18]} step={10} />
    </g>
  ),
  page: (
    <g>
      <rect x="48" y="8" width="64" height="74" rx="4" className={classes.box} />
      <rect x="56" y="16" width="34" height="7" rx="2" className={classes.fill} />
      <Lines x={56} y={30} widths={[48, 44]} />
      {[50, 59, 68].map((y) => (
        <g key={y}>
          <circle cx="59" cy={y + 2} r="2.5" className={classes.dot} />
          <rect x="65" y={y} width="36" height="4" rx="2" className={classes.quiet} />
        </g>
      ))}
    </g>
  ),
  list: (
    <g>
      {[14, 36, 58].map((y, i) => (
        <g key={y}>
          <rect x="34" y={y} width="16" height="16" rx="3" className={classes.box} />
          <path d={`M37 ${y + 8}l4 4 7-9`} className={i === 2 ? classes.none : classes.first} />
          <rect x="60" y={y + 3} width={70 - i * 10} height="4" rx="2" className={classes.quiet} />
          <rect x="60" y={y + 11} width={44 + i * 8} height="4" rx="2" className={classes.quiet} />
        </g>
      ))}
    </g>
  ),
  flow: (
    <g>
      <rect x="8" y="32" width="34" height="26" rx="5" className={classes.box} />
      <path d="M44 45h14m-5-4l5 4l-5 4" className={classes.line} />
      <path d="M80 26l20 19-20 19-20-19z" className={classes.box} />
      <path d="M100 45h14v-20h8m-5-4l5 4l-5 4M114 45v20h8m-5-4l5 4l-5 4" className={classes.line} />
      <rect x="124" y="13" width="28" height="24" rx="5" className={classes.fill} />
      <rect x="124" y="53" width="28" height="24" rx="5" className={classes.box} />
      <Lines x={14} y={40} widths={[22, 16]} />
    </g>
  ),
  text: (
    <g>
      <rect x="14" y="14" width="78" height="26" rx="8" className={classes.box} />
      <Lines x={22} y={22} widths={[56, 40]} />
      <rect x="62" y="50" width="84" height="26" rx="8" className={classes.fill} />
      <g className={classes.onFill}>
        <rect x="72" y="58" width="60" height="4" rx="2" />
        <rect x="72" y="66" width="38" height="4" rx="2" />
      </g>
    </g>
  ),
};
