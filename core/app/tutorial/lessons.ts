/** Lessons and progress, as files: a lesson can be copied to whoever is to learn from it. */

import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ListedLesson } from "../../contract/api/tutorial-calls.ts";
import { HoneError } from "../../contract/errors.ts";
import { lessonProgressSchema, lessonSchema, type Lesson, type LessonProgress } from "../../contract/lesson.ts";
import { writeFileAtomic } from "../../files/atomic.ts";
import { readJson } from "../../files/json.ts";
import { honeHome } from "../../store/library.ts";

const ownLessons = join(import.meta.dirname, "..", "..", "..", "assets", "lessons");

/** A lesson of the person's folder takes the place of Hone's own with the same id. A broken file is named and left out. */
export function listLessons(): { lessons: ListedLesson[]; problems: { path: string; why: string }[] } {
  const problems: { path: string; why: string }[] = [];
  const found = new Map<string, Lesson>();
  for (const path of [...jsonFiles(ownLessons), ...jsonFiles(join(honeHome(), "lessons"))]) {
    try {
      const lesson = readJson(path, lessonSchema);
      requireSteps(lesson, path);
      found.set(lesson.id, lesson);
    } catch (error) {
      if (!(error instanceof HoneError)) throw error;
      problems.push({ path, why: error.message });
    }
  }
  const lessons = [...found.values()].map((lesson) => ({ lesson, progress: readProgress(lesson) }));
  return { lessons, problems };
}

function jsonFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(folder, name));
}

function requireSteps({ steps }: Lesson, path: string): void {
  const ids = steps.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new HoneError("bad-lesson", `${path}: two steps are called ${twice}`);
}

function progressFile(lesson: string): string {
  // The id comes from a window: nothing but a plain name becomes part of a path.
  if (!/^[a-z0-9-]+$/.test(lesson))
    throw new HoneError("no-such-lesson", `there is no lesson ${JSON.stringify(lesson)}`);
  return join(honeHome(), "tutorial", `${lesson}.json`);
}

/** Progress in a step that the lesson no longer has begins again. */
function readProgress(lesson: Lesson): LessonProgress | null {
  const path = progressFile(lesson.id);
  if (!existsSync(path)) return null;
  try {
    const progress = readJson(path, lessonProgressSchema);
    return lesson.steps.some(({ id }) => id === progress.step) ? progress : null;
  } catch (error) {
    if (!(error instanceof HoneError)) throw error;
    return null;
  }
}

export function saveProgress(progress: LessonProgress): void {
  const path = progressFile(progress.lesson);
  mkdirSync(join(honeHome(), "tutorial"), { recursive: true });
  writeFileAtomic(path, `${JSON.stringify(progress, undefined, 2)}\n`);
}

export function restartLesson(lesson: string): void {
  rmSync(progressFile(lesson), { force: true });
}

/** The path of the reward as a person left it, in the library of rewards. */
export function writeLessonReward(lesson: string, text: string): string {
  progressFile(lesson);
  const folder = join(honeHome(), "rewards");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `lesson-${lesson}.ts`);
  writeFileAtomic(path, text);
  return path;
}
