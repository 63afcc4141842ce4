/** A process that downloads what its queue holds, for tests that kill it. Settings come from the environment. */

import { DownloadQueue } from "../../../../core/hub/download/download-queue.ts";
import { repoRefSchema } from "../../../../core/contract/hub.ts";

const ref = repoRefSchema.parse(JSON.parse(process.argv[2]));
const queue = new DownloadQueue({ download: { noteSeconds: 0.05, pieceBytes: 256 * 1024, connections: 2 } });
queue.add({ ref });
process.stdout.write("started\n");
await queue.idle();
const [download] = queue.list();
process.stdout.write(JSON.stringify(download) + "\n");
await queue.close();
