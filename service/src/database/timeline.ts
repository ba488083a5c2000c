/**
 * The timeline of the server, which each promotion of a standby moves on. A failover to a standby that lacks the last commits
 * takes numbers back, and others would get them that caches, replicas or clients already have. So each timeline has its own range.
 */
import { sql } from './database.ts';

/** The control file has it only after the first checkpoint. Fails on a standby. */
export const timeline = sql`('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer`;

export const revisionsPerTimeline = 2 ** 32;

/** Of events. 131,072 timelines are safe integers of JavaScript. */
export const positionsPerTimeline = 2 ** 36;
/** After a restore, because clients may have cursors from after the backup. */
export const positionsPerRestore = 2 ** 32;
